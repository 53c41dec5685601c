// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <portcullis/portcullis.h>

#include <string>
#include <thread>
#include <vector>

#include "base/strings.h"
#include "json/reader.h"
#include "json/value.h"

namespace portcullis::library {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kCluster = R"(
apiVersion: v1
kind: Namespace
metadata: {name: a}
---
apiVersion: v1
kind: LimitRange
metadata: {name: l, namespace: a}
spec: {limits: [{type: Container, default: {cpu: 1}}]}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: q, namespace: a}
spec: {hard: {pods: 1}}
)";
constexpr std::string_view kPod =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"a"},)"
    R"("spec":{"containers":[{"name":"c","image":"i"}]}})";

class LibraryTest : public ::testing::Test {
 protected:
  ~LibraryTest() override { portcullis_close(cluster_); }

  void Open(const char* options = nullptr) {
    cluster_ = portcullis_open(options, &error_);
    ASSERT_NE(cluster_, nullptr) << Error();
    ASSERT_EQ(portcullis_add(cluster_, kCluster.data(), kCluster.size(), &error_), 3) << Error();
  }

  // The message of the last call that failed.
  std::string Error() {
    std::string text = error_ == nullptr ? "" : error_;
    portcullis_free(error_);
    error_ = nullptr;
    return text;
  }

  json::Value Read(char* text) {
    EXPECT_NE(text, nullptr) << Error();
    if (text == nullptr) return {};
    const auto parsed = json::Parse(arena_, arena_.Copy(text));
    portcullis_free(text);
    EXPECT_TRUE(parsed.ok());
    return parsed.ok() ? *parsed : json::Value();
  }
  json::Value Admit(const std::string& request) {
    return Read(portcullis_admit(cluster_, request.data(), request.size(), &error_));
  }
  std::string WhyNot(std::string_view request) {
    EXPECT_EQ(portcullis_admit(cluster_, request.data(), request.size(), &error_), nullptr);
    return Error();
  }

  json::Arena arena_;
  portcullis_cluster* cluster_ = nullptr;
  char* error_ = nullptr;
};

TEST_F(LibraryTest, SaysItsVersion) {
  EXPECT_THAT(std::string(portcullis_version()), HasSubstr("."));
  EXPECT_EQ(portcullis_api_version(), PORTCULLIS_API_VERSION);
}

TEST_F(LibraryTest, RefusesOptionsByName) {
  EXPECT_EQ(portcullis_open(R"({"file":[]})", &error_), nullptr);
  EXPECT_THAT(Error(), HasSubstr("options.file is unknown: there are kubernetesVersion"));
  EXPECT_EQ(portcullis_open(R"({"files":"x"})", &error_), nullptr);
  EXPECT_THAT(Error(), HasSubstr("options.files must be a list of texts"));
  EXPECT_EQ(portcullis_open(R"({"kubernetesVersion":"9.9"})", nullptr), nullptr);
  EXPECT_EQ(portcullis_open(R"({"files":["/nope"]})", &error_), nullptr);
  EXPECT_THAT(Error(), HasSubstr("/nope: no such file or directory"));
}

TEST_F(LibraryTest, AdmitsWithObjectAndPatch) {
  Open();
  const json::Value result = Admit(base::StrCat(R"({"object":)", kPod, "}"));
  EXPECT_TRUE(result["allowed"].AsBool());
  EXPECT_EQ(result["code"].AsInt(), 201);
  EXPECT_EQ(result["object"]["spec"]["containers"][0]["resources"]["limits"]["cpu"].AsString(),
            "1");
  ASSERT_GT(result["patch"].size(), 0U);
  for (const json::Value operation : result["patch"].elements()) {
    EXPECT_EQ(operation["path"].AsString().find("/metadata/uid"), std::string_view::npos);
  }
  EXPECT_FALSE(result.Has("trace"));
}

TEST_F(LibraryTest, LeavesTheClusterAsItWas) {
  Open();
  // A quota of one pod is checked and not charged; the pod is gone after each call.
  for (int i = 0; i < 3; ++i) {
    const json::Value result = Admit(base::StrCat(R"({"object":)", kPod, "}"));
    EXPECT_TRUE(result["allowed"].AsBool()) << result["message"].AsString();
  }
}

TEST_F(LibraryTest, RefusesWithAStatus) {
  Open();
  const json::Value result = Admit(
      R"({"object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"a"},"spec":{}}})");
  EXPECT_FALSE(result["allowed"].AsBool());
  EXPECT_EQ(result["code"].AsInt(), 422);
  EXPECT_THAT(std::string(result["message"].AsString()),
              HasSubstr("spec.containers: Required value"));
  EXPECT_EQ(result["status"]["reason"].AsString(), "Invalid");
  EXPECT_FALSE(result.Has("object"));
}

TEST_F(LibraryTest, JudgesUpdatesAndDeletions) {
  Open();
  const std::string changed = base::ReplaceAll(kPod, R"("name":"c")", R"("name":"d")");
  const json::Value update =
      Admit(base::StrCat(R"({"object":)", changed, R"(,"oldObject":)", kPod, "}"));
  EXPECT_FALSE(update["allowed"].AsBool());
  EXPECT_THAT(std::string(update["message"].AsString()),
              HasSubstr("Forbidden: pod updates may not"));
  EXPECT_TRUE(Admit(base::StrCat(R"({"oldObject":)", kPod, "}"))["allowed"].AsBool());
  const json::Value system = Admit(
      R"({"operation":"DELETE","oldObject":{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-system"}}})");
  EXPECT_FALSE(system["allowed"].AsBool());
  EXPECT_THAT(std::string(system["message"].AsString()),
              HasSubstr("this namespace may not be deleted"));
}

constexpr std::string_view kNoTerminals = R"(
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-terminals}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [''], apiVersions: [v1], operations: [CONNECT], resources: [pods/exec]}
  validations: [{expression: '!object.tty', message: no terminals}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-terminals}
spec: {policyName: no-terminals, validationActions: [Deny]}
)";

TEST_F(LibraryTest, JudgesConnections) {
  Open();
  ASSERT_EQ(portcullis_add(cluster_, kNoTerminals.data(), kNoTerminals.size(), &error_), 2)
      << Error();
  ASSERT_EQ(portcullis_add(cluster_, kPod.data(), kPod.size(), &error_), 1) << Error();
  const auto exec = [&](std::string_view options) {
    return Admit(base::StrCat(
        R"({"operation":"CONNECT","resource":{"group":"","version":"v1","resource":"pods"},)"
        R"("subResource":"exec","namespace":"a","name":"p","object":{"kind":"PodExecOptions",)"
        R"("apiVersion":"v1",)",
        options, "}}"));
  };
  const json::Value refused = exec(R"("tty":true)");
  EXPECT_FALSE(refused["allowed"].AsBool());
  EXPECT_EQ(refused["code"].AsInt(), 422);
  EXPECT_THAT(std::string(refused["message"].AsString()), HasSubstr("no terminals"));
  EXPECT_EQ(refused["status"]["reason"].AsString(), "Invalid");
  // Nothing is behind it: the pod is on no node.
  const json::Value admitted = exec(R"("tty":false)");
  EXPECT_TRUE(admitted["allowed"].AsBool()) << admitted["message"].AsString();
  EXPECT_FALSE(admitted.Has("message"));
  EXPECT_FALSE(admitted.Has("object"));
}

TEST_F(LibraryTest, TracesWhenItIsAskedTo) {
  Open();
  const json::Value result = Admit(base::StrCat(R"({"trace":true,"object":)", kPod, "}"));
  EXPECT_EQ(result["trace"]["kind"].AsString(), "AdmissionTrace");
}

TEST_F(LibraryTest, SaysWhatIsNoRequest) {
  Open();
  EXPECT_THAT(WhyNot("[1]"), HasSubstr("the request is no object"));
  EXPECT_THAT(WhyNot("{}"), HasSubstr("has neither object nor oldObject"));
  EXPECT_THAT(WhyNot("objects: 1"), HasSubstr("has an unknown member objects"));
  EXPECT_THAT(WhyNot("kind: AdmissionReview"), HasSubstr("an AdmissionReview without a request"));
  EXPECT_THAT(WhyNot(R"({"operation":"MAKE","object":{"apiVersion":"v1","kind":"Pod"}})"),
              HasSubstr("operation is MAKE, not one of"));
  EXPECT_THAT(WhyNot(R"({"object":{"apiVersion":"x/v1","kind":"Pud"}})"),
              HasSubstr("no matches for kind \"Pud\""));
}

TEST_F(LibraryTest, ReviewsFromSeveralThreads) {
  Open(R"({"enableAdmissionPlugins":["AlwaysPullImages"]})");
  const std::string body = base::StrCat(
      R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u",)"
      R"("kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1",)"
      R"("resource":"pods"},"name":"p","namespace":"a","operation":"CREATE","userInfo":{"username":"alice"},"object":)",
      kPod, "}}");
  std::vector<std::thread> threads;
  std::vector<int> patched(4);
  for (std::size_t i = 0; i < patched.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        char* const text = portcullis_review(cluster_, body.data(), body.size(), PORTCULLIS_MUTATE,
                                             "AlwaysPullImages", nullptr);
        if (text == nullptr) continue;
        patched[i] +=
            std::string_view(text).find("\"patchType\":\"JSONPatch\"") != std::string_view::npos;
        portcullis_free(text);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(patched, ::testing::Each(20));
  EXPECT_EQ(portcullis_review(cluster_, "{", 1, PORTCULLIS_VALIDATE, nullptr, &error_), nullptr);
  EXPECT_THAT(Error(), HasSubstr("the body is no AdmissionReview"));
}

}  // namespace
}  // namespace portcullis::library
