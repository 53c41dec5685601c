// SPDX-License-Identifier: Apache-2.0

#include "registry/admission/webhook_configuration_validation.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "json/reader.h"

namespace portcullis::registry {
namespace {

// A sound webhook; what a case adds comes last and therefore wins.
constexpr std::string_view kSound =
    R"("name":"a.b.c","clientConfig":{"url":"https://h/p"},"rules":[],"sideEffects":"None",)"
    R"("timeoutSeconds":10,"failurePolicy":"Fail","matchPolicy":"Equivalent",)"
    R"("namespaceSelector":{},"objectSelector":{},"admissionReviewVersions":["v1"])";

json::Value Configuration(json::Arena& arena, std::string_view webhooks) {
  std::string text = R"({"webhooks":[)";
  bool first = true;
  for (const std::string_view more : base::Split(webhooks, '|')) {
    text += base::StrCat(first ? "" : ",", "{", kSound, more.empty() ? "" : ",", more, "}");
    first = false;
  }
  return *json::Parse(arena, arena.Copy(text + "]}"));
}

std::string Text(const api::FieldErrors& errors) { return api::AggregateText(errors); }

std::string ErrorsOf(std::string_view webhook, WebhookKind kind = WebhookKind::kValidating) {
  json::Arena arena;
  api::FieldErrors errors;
  ValidateWebhookConfiguration(Configuration(arena, webhook), {kind}, errors);
  return Text(errors);
}

std::string CheckUpdate(std::string_view webhook, std::string_view old) {
  json::Arena arena;
  api::FieldErrors errors;
  ValidateWebhookConfigurationUpdate(Configuration(arena, webhook), Configuration(arena, old),
                                     {WebhookKind::kValidating}, errors);
  return Text(errors);
}

std::string Rule(std::string_view resources, std::string_view more = "") {
  return base::StrCat(
      R"("rules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":)",
      resources, more.empty() ? "" : ",", more, "}]");
}

struct Case {
  std::string webhook, error;
};

TEST(WebhookConfigurationTest, AcceptsWhatIsSound) {
  EXPECT_EQ(ErrorsOf(""), "");
  EXPECT_EQ(ErrorsOf(Rule(R"(["pods","pods/*","*/scale"])")), "");
  EXPECT_EQ(ErrorsOf(Rule(R"(["pods","*"])")), "");
  EXPECT_EQ(ErrorsOf(Rule(R"(["a/x","a/*"])")), "");
  EXPECT_EQ(ErrorsOf(R"("admissionReviewVersions":["vx","v1beta1"])"), "");
}

TEST(WebhookConfigurationTest, WordsErrorsAsKubernetesDoes) {
  const Case cases[] = {
      {R"("name":"a.b")",
       "webhooks[0].name: Invalid value: \"a.b\": should be a domain with at least three segments "
       "separated by dots"},
      {R"("name":"")", "webhooks[0].name: Required value"},
      {R"("failurePolicy":"Maybe")",
       "webhooks[0].failurePolicy: Unsupported value: \"Maybe\": supported values: \"Fail\", "
       "\"Ignore\""},
      {R"("sideEffects":null)",
       "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun"},
      {R"("sideEffects":"Some")",
       "webhooks[0].sideEffects: Unsupported value: \"Some\": supported values: \"None\", "
       "\"NoneOnDryRun\""},
      {R"("timeoutSeconds":31)",
       "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 "
       "seconds"},
      {R"("admissionReviewVersions":[])",
       "webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1"},
      {R"("admissionReviewVersions":["v1","v1"])",
       "webhooks[0].admissionReviewVersions[1]: Invalid value: \"v1\": duplicate version"},
      {R"("admissionReviewVersions":["vx"])",
       "webhooks[0].admissionReviewVersions: Invalid value: [\"vx\"]: must include at least one of "
       "v1, v1beta1"},
      {"|", "webhooks[1].name: Duplicate value: \"a.b.c\""},
      {Rule(R"(["a/*","a/x"])"),
       "webhooks[0].rules[0].resources[1]: Invalid value: \"a/x\": if 'a/*' is present, must not "
       "specify a/x"},
      {Rule(R"(["*","pods"])"),
       "webhooks[0].rules[0].resources: Invalid value: [\"*\",\"pods\"]: if '*' is present, must "
       "not specify other resources without subresources"},
      {Rule(R"(["*/*","a"])"),
       "webhooks[0].rules[0].resources: Invalid value: [\"*/*\",\"a\"]: if '*/*' is present, must "
       "not specify other resources"},
      {Rule(R"(["pods"],"operations":["PATCH"])"),
       "webhooks[0].rules[0].operations[0]: Unsupported value: \"PATCH\": supported values: \"*\", "
       "\"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\""},
      {Rule(R"(["pods"],"scope":"X")"),
       "webhooks[0].rules[0].scope: Unsupported value: \"X\": supported values: \"*\", "
       "\"Cluster\", \"Namespaced\""},
  };
  for (const Case& c : cases) EXPECT_EQ(ErrorsOf(c.webhook), c.error) << c.webhook;
}

TEST(WebhookConfigurationTest, ChecksWhereWebhooksAre) {
  constexpr std::string_view kForm = "; desired format: https://host[/path]";
  const Case cases[] = {
      {R"("clientConfig":{})",
       "webhooks[0].clientConfig: Required value: exactly one of url or service is required"},
      {R"("clientConfig":{"url":""})",
       base::StrCat("[webhooks[0].clientConfig.url: Invalid value: \"\": 'https' is the only "
                    "allowed URL scheme",
                    kForm,
                    ", webhooks[0].clientConfig.url: Invalid value: \"\": host must be "
                    "specified",
                    kForm, "]")},
      {R"("clientConfig":{"url":"https://u:p@x.y/z"})",
       "webhooks[0].clientConfig.url: Invalid value: \"u:p\": user information is not permitted in "
       "the URL"},
      {R"("clientConfig":{"service":{"namespace":"","name":"b"}})",
       "webhooks[0].clientConfig.service.name: Required value"},
      {R"("clientConfig":{"service":{"namespace":"a","name":"b","port":0}})",
       "webhooks[0].clientConfig.service.port: Invalid value: 0: port is not valid: must be "
       "between "
       "1 and 65535, inclusive"},
      {R"("clientConfig":{"service":{"namespace":"a","name":"b","path":"//"}})",
       "webhooks[0].clientConfig.service.path: Invalid value: \"//\": segment[0] may not be empty"},
      {R"("clientConfig":{"service":{"namespace":"a","name":"b","path":"x"}})",
       "[webhooks[0].clientConfig.service.path: Invalid value: \"x\": must start with a '/', "
       "webhooks[0].clientConfig.service.path: Invalid value: \"x\": segment[0] may not be empty]"},
  };
  for (const Case& c : cases) EXPECT_EQ(ErrorsOf(c.webhook), c.error) << c.webhook;
}

TEST(WebhookConfigurationTest, ChecksConditionsWithoutCel) {
  EXPECT_EQ(ErrorsOf(R"("matchConditions":[{"name":"","expression":" "}])"),
            "[webhooks[0].matchConditions[0].expression: Required value, "
            "webhooks[0].matchConditions[0].name: Required value]");
  EXPECT_EQ(ErrorsOf(R"("matchConditions":[{"name":"a","expression":"true"},)"
                     R"({"name":"a","expression":"true"}])"),
            "webhooks[0].matchConditions[1].name: Duplicate value: \"a\"");
}

TEST(WebhookConfigurationTest, KnowsReinvocationOfMutatingOnesOnly) {
  EXPECT_EQ(ErrorsOf(R"("reinvocationPolicy":"Often")", WebhookKind::kMutating),
            "webhooks[0].reinvocationPolicy: Unsupported value: \"Often\": supported values: "
            "\"IfNeeded\", \"Never\"");
}

TEST(WebhookConfigurationTest, UpdatesMayKeepWhatIsStored) {
  EXPECT_EQ(CheckUpdate(R"("sideEffects":"Some")", R"("sideEffects":"Unknown")"), "");
  EXPECT_NE(CheckUpdate(R"("sideEffects":"Some")", ""), "");
  EXPECT_EQ(
      CheckUpdate(R"("admissionReviewVersions":["vy"])", R"("admissionReviewVersions":["vx"])"),
      "");
  EXPECT_EQ(CheckUpdate("|", "|"), "");
  EXPECT_EQ(CheckUpdate(R"("matchConditions":[{"name":"","expression":""}])",
                        R"("matchConditions":[{"name":"","expression":""}])"),
            "");
}

}  // namespace
}  // namespace portcullis::registry
