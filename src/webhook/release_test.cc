// SPDX-License-Identifier: Apache-2.0

// What webhooks are sent, and how errors about them are worded, in the releases of
// --kubernetes-version (docs/legacy.md).
#include <gtest/gtest.h>

#include "webhook/testing/dispatch_fixture.h"

namespace portcullis::webhook {
namespace {

using testing::Answer;
using testing::Patch;

class ReleaseTest : public testing::DispatchTest {};

constexpr std::string_view kV1beta1 = R"("admissionReviewVersions":["v1beta1"])";

// docs/legacy.md, section 5 of the reference: how errors are worded from v1.9 on.
TEST_P(ReleaseTest, ErrorsAreWordedAsInTheRelease) {
  Validating({Hook("a.x.y", "/a", kV1beta1)});
  Mutating({Hook("m.x.y", "/m", kV1beta1)});
  const Answer absent{.raw_body = "{}"};
  const Answer broken{.status = 500, .raw_body = "out of order", .content_type = "text/plain"};
  const Answer denial{.raw_body = R"({"response":{"status":{"message":"no"}}})"};
  const Answer redirect{.raw_body = R"({"response":{"status":{"code":302,"message":"no"}}})"};
  const Answer refusal{.raw_body = R"({"response":{"status":{"code":403,"message":"no"}}})"};
  struct Row {
    std::string_view release;
    const Answer& answer;
    std::string validating;
    std::string mutating;
  };
  const std::string failed = "500 Internal error occurred: failed calling ";
  const std::string denied = "admission webhook \"a.x.y\" denied the request: no";
  const std::string denied_m = "admission webhook \"m.x.y\" denied the request: no";
  const std::string down =
      "an error on the server (\"out of order\") has prevented the request from succeeding";
  const Row rows[] = {
      {"1.9", absent, failed + "admission webhook \"a.x.y\": Webhook response was absent",
       failed + "admission webhook \"m.x.y\": webhook response was absent"},
      {"1.12", absent, failed + "admission webhook \"a.x.y\": Webhook response was absent",
       failed + "admission webhook \"m.x.y\": Webhook response was absent"},
      {"1.13", absent, failed + "webhook \"a.x.y\": Webhook response was absent",
       failed + "webhook \"m.x.y\": Webhook response was absent"},
      {"1.16", absent, failed + "webhook \"a.x.y\": webhook response was absent",
       failed + "webhook \"m.x.y\": webhook response was absent"},
      {"1.22", absent,
       failed + "webhook \"a.x.y\": received invalid webhook response: webhook response was absent",
       failed +
           "webhook \"m.x.y\": received invalid webhook response: webhook response was absent"},
      {"1.12", broken, failed + "admission webhook \"a.x.y\": " + down,
       failed + "admission webhook \"m.x.y\": " + down},
      {"1.21", broken, failed + "webhook \"a.x.y\": " + down,
       failed + "webhook \"m.x.y\": " + down},
      {"1.14", denial, "500 " + denied, "500 Internal error occurred: " + denied_m},
      {"1.14", redirect, "302 " + denied, "500 Internal error occurred: " + denied_m},
      {"1.14", refusal, "403 " + denied, "500 Internal error occurred: " + denied_m},
      {"1.15", denial, "400 " + denied, "400 " + denied_m},
      {"1.15", redirect, "400 " + denied, "400 " + denied_m},
      {"1.15", refusal, "403 " + denied, "403 " + denied_m},
  };
  for (const Row& row : rows) {
    SetRelease(row.release);
    answers_["/a"] = {row.answer};
    answers_["/m"] = {row.answer};
    const base::Status status = Validate(ConfigMap());
    EXPECT_EQ(base::StrCat(std::to_string(status.http_code()), " ", status.message()),
              row.validating)
        << row.release;
    EXPECT_EQ(Mutate(ConfigMap()), row.mutating) << row.release;
  }
}

TEST_P(ReleaseTest, BadPatchesWereNoMatterOfThePolicyUpTo121) {
  Mutating({Hook("m.x.y", "/m", base::StrCat(kV1beta1, R"(,"failurePolicy":"Ignore")"))});
  struct Row {
    std::string_view release;
    std::string_view patch;
    std::string_view outcome;
  };
  constexpr std::string_view kUnread = "{}";
  constexpr std::string_view kUnfit = R"([{"op":"remove","path":"/data/zz"}])";
  constexpr Row kRows[] = {
      {"1.14", kUnread,
       "500 Internal error occurred: Internal error occurred: json: cannot unmarshal object into "
       "Go value of type jsonpatch.Patch"},
      {"1.15", kUnread,
       "500 Internal error occurred: json: cannot unmarshal object into Go value of type "
       "jsonpatch.Patch"},
      {"1.21", kUnread,
       "500 Internal error occurred: json: cannot unmarshal object into Go value of type "
       "jsonpatch.Patch"},
      {"1.22", kUnread, R"({"a":"1"})"},
      {"1.14", kUnfit,
       "500 Internal error occurred: Internal error occurred: error in remove for path: "
       "'/data/zz': "
       "Unable to remove nonexistent key: zz: missing value"},
      {"1.15", kUnfit,
       "500 Internal error occurred: error in remove for path: '/data/zz': Unable to remove "
       "nonexistent key: zz: missing value"},
  };
  for (const Row& row : kRows) {
    SetRelease(row.release);
    answers_["/m"] = {{.raw_body = base::StrCat(R"({"response":{)", Patch(row.patch), "}}")}};
    EXPECT_EQ(Mutate(ConfigMap()), row.outcome) << row.release << row.patch;
  }
}

TEST_P(ReleaseTest, ReviewsInV1beta1HaveTheFieldsOfTheRelease) {
  Validating({Hook("a.x.y", "/a", kV1beta1)});
  answers_["/a"] = {{.raw_body = R"({"response":{"allowed":true}})"}};
  struct Row {
    std::string_view release;
    bool has_dry_run;
    bool has_name;
    bool has_request_kind;
  };
  constexpr Row kRows[] = {{"1.9", false, false, false},
                           {"1.12", true, false, false},
                           {"1.14", true, true, false},
                           {"1.15", true, true, true}};
  for (const Row& row : kRows) {
    SetRelease(row.release);
    ASSERT_TRUE(Validate(ConfigMap()).ok());
    admission::Attributes deletion = ConfigMap();
    deletion.operation = admission::kDelete;
    std::swap(deletion.object, deletion.old_object);
    ASSERT_TRUE(Validate(std::move(deletion)).ok());
    ASSERT_EQ(bodies_.size(), 2U);
    const json::Document created = json::ParseDocument(bodies_[0]).value();
    const json::Document deleted = json::ParseDocument(bodies_[1]).value();
    bodies_.clear();
    const json::Value request = created["request"];
    EXPECT_EQ(request.Has("dryRun"), row.has_dry_run) << row.release;
    EXPECT_EQ(request.Has("name"), row.has_name) << row.release;
    for (const std::string_view field : {"requestKind", "requestResource", "options"}) {
      EXPECT_EQ(request.Has(field), row.has_request_kind) << row.release << field;
    }
    EXPECT_TRUE(deleted["request"].Has("name")) << row.release;
    EXPECT_EQ(deleted["request"]["oldObject"].is_object(), row.has_request_kind) << row.release;
  }
  // A webhook that takes v1 gets all of it in every release.
  SetRelease("1.9");
  Configure("validatingwebhookconfigurations", "w", {Hook("b.x.y", "/b")});
  ASSERT_TRUE(Validate(ConfigMap()).ok());
  ASSERT_EQ(bodies_.size(), 2U);
  for (const std::string& body : bodies_) {
    const json::Document review = json::ParseDocument(body).value();
    EXPECT_EQ(review["request"].Has("requestKind"),
              review["apiVersion"].AsString() == "admission.k8s.io/v1");
  }
}

TEST_P(ReleaseTest, In19ConfigurationsAreReviewedThemselves) {
  Validating({Hook("a.x.y", "/a", kV1beta1)});
  answers_["/a"] = {{.raw_body = R"({"response":{"allowed":false}})"}};
  const auto remove = [&] {
    admission::Attributes attributes;
    attributes.operation = admission::kDelete;
    attributes.resource = {"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations"};
    attributes.kind = {"admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration"};
    return Validate(std::move(attributes)).ok();
  };
  SetRelease("1.9");
  EXPECT_FALSE(remove());
  SetRelease("1.10");
  EXPECT_TRUE(remove());
}

INSTANTIATE_TEST_SUITE_P(Waiting, ReleaseTest, ::testing::Bool(),
                         [](const auto& row) { return row.param ? "OnFiber" : "OnThread"; });

}  // namespace
}  // namespace portcullis::webhook
