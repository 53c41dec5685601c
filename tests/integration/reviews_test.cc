// SPDX-License-Identifier: Apache-2.0

// Questions put as objects: what is wrong with them, and what comes back.

#include <gtest/gtest.h>

#include "base/strings.h"
#include "harness/test_server.h"

namespace portcullis {
namespace {

using testing::Answer;
using testing::TestServer;

constexpr std::string_view kAuthorization = "/apis/authorization.k8s.io/v1";

std::string Refusal(TestServer& server, std::string_view resource, std::string_view body) {
  return std::string(server.Post(base::StrCat(kAuthorization, "/", resource), body).message());
}

TEST(Reviews, OfAccessNameEitherAResourceOrAPath) {
  TestServer server;
  const auto refusal = [&](std::string_view body) {
    return Refusal(server, "selfsubjectaccessreviews", body);
  };

  EXPECT_EQ(refusal(R"({"spec":{}})"),
            R"(.authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: null: )"
            "exactly one of nonResourceAttributes or resourceAttributes must be specified");
  EXPECT_EQ(refusal(R"({"spec":{"resourceAttributes":{"verb":"get"},
                        "nonResourceAttributes":{"path":"/x","verb":"get"}}})"),
            R"(.authorization.k8s.io "" is invalid: spec.nonResourceAttributes: Invalid value: )"
            R"({"Path":"/x","Verb":"get"}: cannot be specified in combination with )"
            "resourceAttributes");
  EXPECT_EQ(refusal(R"({"spec":{"resourceAttributes":{"fieldSelector":{},"labelSelector":{
                        "requirements":[{"key":"a","operator":"In"},{"key":"b","operator":"New"}]}}}})"),
            R"(.authorization.k8s.io "" is invalid: [spec.resourceAttributes.fieldSelector)"
            ".requirements: Required value: when spec.resourceAttributes.fieldSelector is "
            "specified, requirements or rawSelector is required, spec.resourceAttributes."
            "labelSelector.requirements[0].values: Required value: must be specified when "
            "`operator` is 'In' or 'NotIn']");
}

TEST(Reviews, HaveNoMetadataOfTheirOwn) {
  TestServer server;
  const std::string text =
      Refusal(server, "subjectaccessreviews", R"({"metadata":{"name":"x"},"spec":{"user":"u",
          "resourceAttributes":{"verb":"get"}}})");
  EXPECT_TRUE(text.starts_with(
      R"(.authorization.k8s.io "" is invalid: metadata: Invalid value: {"name":"x",)"))
      << text;
  EXPECT_TRUE(text.ends_with(": must be empty")) << text;
}

TEST(Reviews, ThatAskForOneselfAnswerOnly) {
  TestServer server;
  EXPECT_EQ(Refusal(server, "selfsubjectrulesreviews", R"({"spec":{}})"),
            "no namespace on request");
  const Answer rules = server.Post(base::StrCat(kAuthorization, "/selfsubjectrulesreviews"),
                                   R"({"metadata":{"name":"x"},"spec":{"namespace":"default"}})");
  EXPECT_EQ(rules["spec"].size(), 0u) << rules.body;
  EXPECT_EQ(rules["metadata"].size(), 0u) << rules.body;
  EXPECT_FALSE(rules["status"]["resourceRules"].is_null());
  const Answer self = server.Post("/apis/authentication.k8s.io/v1/selfsubjectreviews",
                                  R"({"metadata":{"name":"x","labels":{"a":"b"}}})");
  EXPECT_EQ(self.status, 201);
  EXPECT_EQ(self["metadata"].size(), 1u) << self.body;
  EXPECT_TRUE(self["metadata"].Has("creationTimestamp"));
}

TEST(Reviews, TellWhoSetTheirFields) {
  TestServer server;
  const Answer review = server.Post(base::StrCat(kAuthorization, "/selfsubjectaccessreviews"),
                                    R"({"spec":{"resourceAttributes":{"verb":"get"}}})");
  EXPECT_EQ(review.status, 201);
  const json::Value fields = review["metadata"]["managedFields"];
  ASSERT_EQ(fields.size(), 1u) << review.body;
  EXPECT_TRUE(fields[0]["fieldsV1"]["f:spec"].Has("f:resourceAttributes")) << review.body;
}

}  // namespace
}  // namespace portcullis
