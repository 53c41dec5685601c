// SPDX-License-Identifier: Apache-2.0

#include "offline/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "offline/judge.h"
#include "offline/report/coverage_forms.h"

namespace portcullis::offline {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kCases[] = R"(apiVersion: portcullis.dev/v1
kind: Test
metadata: {name: t}
object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {size: '1'}}
cases:
)";

constexpr char kCoveredPolicy[] = R"yaml(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: size}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
    - {apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [configmaps]}
  matchConditions:
  - {name: named, expression: object.metadata.name != 'free'}
  variables:
  - {name: size, expression: int(object.data.size)}
  - {name: unused, expression: '1'}
  validations:
  - expression: variables.size < 5 || object.metadata.name == 'large'
    messageExpression: "'not ' + string(variables.size)"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: size}
spec: {policyName: size, validationActions: [Deny]}
)yaml";

// The point of the path with such a text.
const CoveragePoint& PointOf(const PolicyCoverage& policy, std::string_view path,
                             std::string_view text = {}) {
  static const CoveragePoint kNone;
  for (const CoveragePoint& point : policy.points) {
    if (point.path == path && (text.empty() || point.text == text)) return point;
  }
  ADD_FAILURE() << path << " " << text;
  return kNone;
}

Report RunCases(const std::string& cases) {
  Inputs inputs;
  ReadText("t.yaml", kCases + cases, true, inputs);
  ReadText("p.yaml", kCoveredPolicy, true, inputs);  // as a file of --filename: of every test
  JudgeOptions options;
  options.covers = true;
  auto report = RunTests(inputs, options);
  EXPECT_TRUE(report.ok());
  return report.ok() ? *std::move(report) : Report();
}

TEST(Coverage, CountsWhatCasesReach) {
  const Report report = RunCases(
      "- {name: a, expect: allow}\n"
      "- {name: b, set: {data.size: '7'}, expect: {verdict: deny, message: {contains: not 7}}}\n"
      "- {name: c, set: {metadata.name: free, data.size: '9'}, expect: allow}\n");
  EXPECT_EQ(report.refusals(), 0U);
  ASSERT_THAT(report.coverage, SizeIs(1));
  const PolicyCoverage& policy = report.coverage[0];
  EXPECT_EQ(policy.name, "size");
  EXPECT_EQ(PointOf(policy, "matchConstraints.resourceRules[0]").hits, 3U);
  EXPECT_EQ(PointOf(policy, "matchConstraints.resourceRules[1]").hits, 0U);
  const CoveragePoint& condition = PointOf(policy, "matchConditions[0].expression");
  EXPECT_EQ(condition.held, 2U);
  EXPECT_EQ(condition.failed, 1U);
  EXPECT_EQ(condition.place.line, 10U);
  EXPECT_EQ(PointOf(policy, "variables[0].expression").hits, 3U);  // once more for the message
  EXPECT_EQ(PointOf(policy, "variables[1].expression").hits, 0U);
  const std::string path = "validations[0].expression";
  EXPECT_EQ(PointOf(policy, path).failed, 1U);
  EXPECT_EQ(PointOf(policy, path, "variables.size < 5").held, 1U);
  const CoveragePoint& never = PointOf(policy, path, "object.metadata.name == \"large\"");
  EXPECT_EQ(never.held, 0U);
  EXPECT_EQ(never.failed, 1U);
  EXPECT_EQ(PointOf(policy, "validations[0].messageExpression").hits, 1U);
  // Of 2 rules, 2 variables, a message; and 2 for the condition, the validation and its two parts.
  EXPECT_EQ(policy.goals(), 13U);
  EXPECT_EQ(policy.reached(), 10U);
}

TEST(Coverage, HasPointsOfPoliciesThatNoCaseReaches) {
  const Report report = RunCases(
      "- {object: {apiVersion: v1, kind: Namespace, metadata: {name: a}}, expect: allow}\n");
  ASSERT_THAT(report.coverage, SizeIs(1));
  EXPECT_EQ(report.coverage[0].goals(), 13U);
  EXPECT_EQ(report.coverage[0].reached(), 0U);
}

TEST(Coverage, AddsUpWhatSeveralTestsReach) {
  const Report first = RunCases("- {expect: allow}\n");
  const Report second = RunCases("- {set: {data.size: '7'}, expect: deny}\n");
  std::vector<PolicyCoverage> all;
  MergeCoverage(all, first.coverage);
  MergeCoverage(all, second.coverage);
  ASSERT_THAT(all, SizeIs(1));
  const CoveragePoint& point = PointOf(all[0], "validations[0].expression");
  EXPECT_EQ(point.held, 1U);
  EXPECT_EQ(point.failed, 1U);
}

TEST(Coverage, IsPrintedInEveryForm) {
  const Report report = RunCases("- {expect: allow}\n");
  const auto& policies = report.coverage;
  const std::string text = WriteCoverageText(policies);
  EXPECT_THAT(text, HasSubstr("p.yaml:1:1: ValidatingAdmissionPolicy size: "));
  EXPECT_THAT(text,
              HasSubstr("p.yaml:8:7: matchConstraints.resourceRules[1] matches no request\n"));
  EXPECT_THAT(text, HasSubstr("matchConditions[0].expression always holds: "
                              "object.metadata.name != 'free'\n"));
  EXPECT_THAT(text, HasSubstr("\ncoverage: "));
  EXPECT_THAT(WriteCoverageJson(policies), HasSubstr("\"path\": \"variables[0].expression\""));
  const std::string lcov = WriteLcov(policies);
  EXPECT_THAT(lcov, HasSubstr("SF:p.yaml\nBRDA:10,0,0,1\nBRDA:10,0,1,0\n"));
  EXPECT_THAT(lcov, HasSubstr("DA:8,0\n"));
  EXPECT_THAT(lcov, HasSubstr("end_of_record\n"));
  const std::string xml = WriteCobertura(policies);
  EXPECT_THAT(xml, HasSubstr("<line number=\"10\" hits=\"1\" branch=\"true\" "
                             "condition-coverage=\"50% (1/2)\"/>"));
  EXPECT_THAT(xml, HasSubstr("<class name=\"p.yaml\" filename=\"p.yaml\" line-rate=\"0."));
}

}  // namespace
}  // namespace portcullis::offline
