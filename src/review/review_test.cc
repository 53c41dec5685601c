// SPDX-License-Identifier: Apache-2.0

#include "review/review.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "engine/engine.h"
#include "engine/write/cluster_writer.h"
#include "json/patch.h"
#include "json/reader.h"
#include "json/writer.h"
#include "json/yaml.h"

namespace portcullis::review {
namespace {

using ::testing::HasSubstr;

class ReviewTest : public ::testing::Test {
 protected:
  void Enable(std::vector<std::string> plugins) {
    engine::EngineOptions options;
    options.read_only = true;
    options.admission_plugins.enable = std::move(plugins);
    auto made = engine::Engine::Create(std::move(options));
    ASSERT_TRUE(made.ok()) << made.status().message();
    engine_ = std::move(made).value();
  }

  void Give(std::string_view yaml) {
    const auto object = json::ParseYaml(arena_, yaml);
    ASSERT_TRUE(object.ok());
    const auto given = engine::EnsureObject(engine_->world(), *object);
    ASSERT_TRUE(given.ok()) << given.message();
  }

  // A pod's creation by default, with members of `request` besides.
  static std::string Body(std::string_view object, std::string_view request = "",
                          std::string_view version = "v1") {
    return base::StrCat(
        R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/)", version,
        R"(","request":{"uid":"u1","kind":{"group":"","version":"v1","kind":"Pod"},)"
        R"("resource":{"group":"","version":"v1","resource":"pods"},"name":"p","namespace":"a",)"
        R"("operation":"CREATE","userInfo":{"username":"alice"},"object":)",
        object, request, "}}");
  }

  json::Value Answer(std::string body, const Scope& scope) {
    auto review = Review::Read(engine_->world(), std::move(body));
    EXPECT_TRUE(review.ok()) << review.status().message();
    if (!review.ok()) return {};
    const auto answer = json::Parse(arena_, arena_.Copy((*review)->Answer(scope)));
    EXPECT_TRUE(answer.ok());
    return *answer;
  }

  base::Status ErrorOf(std::string body) {
    return Review::Read(engine_->world(), std::move(body)).status();
  }

  json::Arena arena_;
  std::unique_ptr<engine::Engine> engine_;
};

constexpr std::string_view kPod =
    R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"a","creationTimestamp":null},)"
    R"("spec":{"containers":[{"name":"c","image":"i","resources":{},"imagePullPolicy":"IfNotPresent"}]},"status":{}})";

// An API server writes "resources":{}; others need not. The patch fits what they have sent.
TEST_F(ReviewTest, PatchesTheObjectAsItWasSent) {
  Enable({});
  Give(
      "{apiVersion: v1, kind: LimitRange, metadata: {name: l, namespace: a}, "
      "spec: {limits: [{type: Container, default: {cpu: 1}}]}}");
  const json::Value sent = *json::Parse(
      arena_, R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"a"},)"
              R"("spec":{"containers":[{"name":"c","image":"i"}]}})");
  const json::Value answer =
      Answer(Body(json::ToString(sent)), {admission::kMutate, "LimitRanger"});
  const auto text = base::Base64Decode(answer["response"]["patch"].AsString());
  ASSERT_TRUE(text.has_value());
  const auto patch = json::DecodePatch(arena_, arena_.Copy(*text));
  ASSERT_TRUE(patch.ok());
  const auto patched = json::ApplyPatch(arena_, sent, *patch, {});
  ASSERT_TRUE(patched.ok()) << patched.status().message() << *text;
  EXPECT_EQ((*patched)["spec"]["containers"][0]["resources"]["limits"]["cpu"].AsString(), "1");
}

TEST_F(ReviewTest, AnswersWithThePatchOfOnePlugin) {
  Enable({"AlwaysPullImages"});
  const json::Value answer = Answer(Body(kPod), {admission::kMutate, "AlwaysPullImages"});
  EXPECT_EQ(answer["apiVersion"].AsString(), "admission.k8s.io/v1");
  const json::Value response = answer["response"];
  EXPECT_EQ(response["uid"].AsString(), "u1");
  EXPECT_TRUE(response["allowed"].AsBool());
  EXPECT_EQ(response["patchType"].AsString(), "JSONPatch");
  EXPECT_EQ(base::Base64Decode(response["patch"].AsString()),
            R"([{"op":"replace","path":"/spec/containers/0/imagePullPolicy","value":"Always"}])");
}

TEST_F(ReviewTest, AnswersInTheVersionOfTheRequest) {
  Enable({});
  const json::Value answer =
      Answer(Body(kPod, "", "v1beta1"), {admission::kMutate, "AlwaysPullImages"});
  EXPECT_EQ(answer["apiVersion"].AsString(), "admission.k8s.io/v1beta1");
  EXPECT_FALSE(answer["response"].Has("patch"));
}

TEST_F(ReviewTest, RefusesWithTheStatusOfThePlugin) {
  Enable({});
  Give("{apiVersion: v1, kind: Namespace, metadata: {name: a}}");
  Give(
      "{apiVersion: v1, kind: LimitRange, metadata: {name: l, namespace: a}, spec: {limits: "
      "[{type: Pod, "
      "max: {cpu: 1}}]}}");
  const json::Value response =
      Answer(Body(kPod), {admission::kValidate, "LimitRanger"})["response"];
  EXPECT_FALSE(response["allowed"].AsBool());
  const json::Value status = response["status"];
  EXPECT_EQ(status["code"].AsInt(), 403);
  EXPECT_EQ(status["reason"].AsString(), "Forbidden");
  EXPECT_THAT(std::string(status["message"].AsString()), HasSubstr("pods \"p\" is forbidden: "));
  EXPECT_EQ(status["details"]["kind"].AsString(), "pods");
}

TEST_F(ReviewTest, BringsWarningsAndAuditAnnotationsWithoutTheirPrefix) {
  Enable({});
  Give(
      "{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: "
      "{pod-security.kubernetes.io/warn: restricted}}}");
  const json::Value response =
      Answer(Body(kPod), {admission::kValidate, "PodSecurity"})["response"];
  EXPECT_TRUE(response["allowed"].AsBool());
  ASSERT_EQ(response["warnings"].size(), 1U);
  EXPECT_THAT(std::string(response["warnings"][0].AsString()),
              HasSubstr("would violate PodSecurity \"restricted:latest\""));
  EXPECT_EQ(response["auditAnnotations"]["enforce-policy"].AsString(), "privileged:latest");
}

TEST_F(ReviewTest, RefusesObjectsOfWrongTypes) {
  Enable({"AlwaysPullImages"});
  const json::Value response =
      Answer(Body(R"({"kind":"Pod","apiVersion":"v1","spec":{"containers":5}})"),
             {admission::kMutate})["response"];
  EXPECT_FALSE(response["allowed"].AsBool());
  EXPECT_EQ(response["status"]["code"].AsInt(), 400);
}

TEST_F(ReviewTest, LeavesKindsAloneThatItDoesNotKnow) {
  Enable({"AlwaysPullImages"});
  const std::string body = base::ReplaceAll(
      Body(R"({"kind":"Pod","apiVersion":"x.io/v1","spec":{"containers":5}})"),
      R"("resource":{"group":"","version":"v1")", R"("resource":{"group":"x.io","version":"v1")");
  EXPECT_TRUE(
      Answer(body, {admission::kMutate, "AlwaysPullImages"})["response"]["allowed"].AsBool());
}

TEST_F(ReviewTest, SaysWhatIsNoReview) {
  Enable({});
  EXPECT_THAT(ErrorOf("{").message(), HasSubstr("the body is no AdmissionReview: "));
  EXPECT_THAT(ErrorOf("[]").message(), HasSubstr("it is no object"));
  EXPECT_THAT(ErrorOf(Body("null")).message(), HasSubstr("request.object is no object"));
  EXPECT_THAT(ErrorOf(R"({"kind":"Pod","apiVersion":"v1"})").message(),
              HasSubstr("its kind is \"Pod\""));
  EXPECT_THAT(ErrorOf(Body(kPod, "", "v9")).message(), HasSubstr("admission.k8s.io/v9"));
  EXPECT_THAT(ErrorOf(base::ReplaceAll(Body(kPod), "CREATE", "MAKE")).message(),
              HasSubstr("request.operation is \"MAKE\""));
  EXPECT_THAT(ErrorOf(base::ReplaceAll(Body(kPod), R"("uid":"u1",)", "")).message(),
              HasSubstr("request.uid is empty"));
  EXPECT_THAT(ErrorOf(base::ReplaceAll(Body(kPod), R"("name":"p",)", R"("name":5,)")).message(),
              HasSubstr("json: cannot unmarshal number into Go struct field"));
}

TEST_F(ReviewTest, ChecksQuotasAndChargesNone) {
  Enable({});
  Give("{apiVersion: v1, kind: Namespace, metadata: {name: a}}");
  Give(
      "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: a}, spec: {hard: "
      "{pods: 1}}, "
      "status: {hard: {pods: 1}, used: {pods: 0}}}");
  for (int i = 0; i < 2; ++i) {
    const json::Value response =
        Answer(Body(kPod), {admission::kValidate, "ResourceQuota"})["response"];
    EXPECT_TRUE(response["allowed"].AsBool()) << response["status"]["message"].AsString();
  }
}

}  // namespace
}  // namespace portcullis::review
