// SPDX-License-Identifier: Apache-2.0

// What is said of policies besides the texts of kube-apiserver: places, hints and notes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/strings.h"
#include "offline/blame.h"
#include "offline/judge.h"

namespace portcullis::offline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A ConfigMap judged by one policy of `kind` with a binding of the policy `bound`. `rules` are
// validations, or what a MutatingAdmissionPolicy has in their place, from line 8 on.
Report JudgeByPolicy(std::string_view kind, std::string_view rules, std::string_view bound = "p") {
  constexpr std::string_view kGroup = "apiVersion: admissionregistration.k8s.io/v1\nkind: ";
  Inputs inputs;
  ReadText(
      "m.yaml",
      base::StrCat(kGroup, kind,
                   "\nmetadata: {name: p}\nspec:\n  matchConstraints:\n    resourceRules:\n"
                   "    - {apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: "
                   "[configmaps]}\n",
                   rules, "\n---\n", kGroup, kind,
                   "Binding\nmetadata: {name: b}\nspec: {policyName: ", bound,
                   kind.starts_with("V") ? ", validationActions: [Deny]" : "",
                   "}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {}\n"),
      true, inputs);
  auto report = Judge(inputs, JudgeOptions());
  EXPECT_TRUE(report.ok()) << report.status().message();
  return report.ok() ? *std::move(report) : Report();
}

// The one failure of the ConfigMap.
Failure FailureOf(const Report& report) {
  if (report.results.empty() || report.results.back().failures.size() != 1) {
    ADD_FAILURE() << "not one failure of " << report.results.size() << " results";
    return {};
  }
  return report.results.back().failures[0];
}

TEST(Blame, MessageExpressionsThatGiveNothingAreNamed) {
  const auto advice = [](std::string_view rest) {
    return FailureOf(
               JudgeByPolicy("ValidatingAdmissionPolicy",
                             base::StrCat("  validations: [{expression: 'false'", rest, "}]")))
        .advice;
  };
  const std::string fails = ", messageExpression: \"string(object.data['a'])\"";
  EXPECT_THAT(advice(fails), HasSubstr("messageExpression gave no message"));
  EXPECT_THAT(advice(fails + ", message: never"), HasSubstr("messageExpression gave no message"));
  EXPECT_EQ(advice(", messageExpression: \"'of ' + object.metadata.name\""), "");
  EXPECT_EQ(advice(", message: never"), "");
}

TEST(Blame, MutationsThatFailAreNamedByTheirPlace) {
  for (std::string_view patch : {R"({op: "add", path: "/a/b/c"})",
                                 // An error without the name of a policy.
                                 R"({op: "add", path: "/data", value: 3})"}) {
    const Failure found = FailureOf(
        JudgeByPolicy("MutatingAdmissionPolicy",
                      base::StrCat("  reinvocationPolicy: Never\n  mutations:\n  - {patchType: "
                                   "JSONPatch, jsonPatch: {expression: '[JSONPatch{op: \"test\", "
                                   "path: \"/metadata/name\", value: \"a\"}]'}}\n"
                                   "  - {patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch",
                                   patch, "]'}}")));
    EXPECT_EQ(found.source, "MutatingAdmissionPolicy p, binding b");
    EXPECT_EQ(found.rule.line, 11U) << patch;
    EXPECT_THAT(found.expression, HasSubstr("JSONPatch{"));
  }
}

TEST(Blame, BindingsWithoutPolicyAreNoted) {
  constexpr std::string_view kRules = "  validations: [{expression: 'true'}]";
  EXPECT_THAT(JudgeByPolicy("ValidatingAdmissionPolicy", kRules).notes, IsEmpty());
  EXPECT_THAT(JudgeByPolicy("ValidatingAdmissionPolicy", kRules, "q").notes,
              ElementsAre("binding b has no effect: no file has the policy q"));
}

TEST(Blame, AnswersOfWebhooksAreToldFromNone) {
  constexpr std::string_view kFailed = "failed calling webhook \"a.b.c\": failed to call webhook: ";
  EXPECT_THAT(AdviceFor("webhook a/a.b.c", base::StrCat(kFailed, "Post \"https://a\": dial tcp")),
              HasSubstr("no answer came"));
  EXPECT_THAT(AdviceFor("webhook a/a.b.c", base::StrCat(kFailed, "couldn't get version/kind")),
              HasSubstr("has answered"));
}

// Go names the fields on the way to a value of a wrong type, and neither indexes nor keys.
TEST(Blame, ValuesOfAWrongTypeAreFound) {
  const auto blamed = [](const std::string& text) {
    Inputs inputs;
    ReadText("m.yaml", text, true, inputs);
    const auto report = Judge(inputs, JudgeOptions());
    return report.ok() ? FailureOf(*report) : Failure();
  };
  const Failure failure = blamed(
      "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec:\n  template:\n    spec:\n"
      "      containers:\n      - {name: a, env: [{name: A, value: a}]}\n      - name: b\n"
      "        env:\n        - name: B\n          value: 1.5\n");
  EXPECT_THAT(failure.message, HasSubstr("cannot unmarshal number into Go struct field EnvVar."));
  EXPECT_EQ(failure.path, "spec.template.spec.containers[1].env[0].value");
  EXPECT_EQ(failure.place.ToString(), "m.yaml:12:11");
  EXPECT_EQ(failure.advice, "the field takes a text: quote the value");
  const Failure of_map = blamed(
      "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n    a: b\n"
      "    example.com/on: true\n");
  EXPECT_EQ(of_map.path, "metadata.annotations[example.com/on]");
  EXPECT_EQ(of_map.place.ToString(), "m.yaml:7:5");
  const Failure not_text = blamed(
      "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec:\n  replicas: \"3\"\n");
  EXPECT_EQ(not_text.place.ToString(), "m.yaml:5:3");
  EXPECT_EQ(not_text.advice, "");
}

}  // namespace
}  // namespace portcullis::offline
