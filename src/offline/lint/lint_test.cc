// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/clock.h"
#include "base/file.h"
#include "base/strings.h"
#include "offline/correct_files.h"
#include "offline/lint/lint.h"
#include "pki/certificates.h"

namespace portcullis::offline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

LintReport LintText(const std::string& text) {
  static std::vector<std::unique_ptr<Inputs>> kept;  // the report points into them
  Inputs& inputs = *kept.emplace_back(std::make_unique<Inputs>());
  ReadText("m.yaml", text, true, inputs);
  auto report = Lint(inputs, {});
  EXPECT_TRUE(report.ok());
  return report.ok() ? *std::move(report) : LintReport();
}

std::set<std::string> IdsOf(const LintReport& report) {
  std::set<std::string> ids;
  for (const Finding& finding : report.findings) ids.emplace(finding.rule->id);
  return ids;
}

// Each folder of testdata is an incident that was published; its first lines name what is found.
TEST(LintTest, FindsPublishedIncidents) {
  const std::filesystem::path folder =
      std::filesystem::path(PC_SOURCE_DIR) / "src/offline/lint/testdata";
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto text = base::ReadFile((entry.path() / "objects.yaml").string());
    ASSERT_TRUE(text.ok()) << entry.path();
    const auto marked = base::Cut(*text, "# finds: ");
    ASSERT_TRUE(marked) << entry.path();
    const LintReport report = LintText(*text);
    EXPECT_THAT(report.problems, IsEmpty()) << entry.path();
    std::set<std::string> wanted;
    for (const std::string_view id : base::Split(base::Cut(marked->second, "\n")->first, ' ')) {
      wanted.emplace(id);
    }
    EXPECT_EQ(IdsOf(report), wanted) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 25U);
}

TEST(LintTest, EveryRuleTellsWhyAndHowToMendIt) {
  std::set<std::string_view> ids;
  for (const LintRule* rule : LintRules()) {
    EXPECT_TRUE(ids.insert(rule->id).second) << rule->id;
    EXPECT_GT(rule->reason.size(), 20U) << rule->id;
    EXPECT_GT(rule->mend.size(), 10U) << rule->id;
  }
  EXPECT_GE(ids.size(), 25U);
}

constexpr char kHook[] = R"yaml(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hook}
webhooks:
- name: h.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {url: "https://example.com"}
  failurePolicy: Ignore
  timeoutSeconds: 20)yaml";

TEST(LintTest, FindingsHaveTheirPlace) {
  const LintReport report = LintText(kHook);
  ASSERT_THAT(report.findings, SizeIs(2));
  EXPECT_EQ(report.findings[0].place.ToString(), "m.yaml:9:3");
  EXPECT_EQ(report.findings[1].place.ToString(), "m.yaml:10:3");
  EXPECT_THAT(
      LintAsText(report),
      HasSubstr("m.yaml:10:3: warning webhook-long-timeout: webhook h.example.com may take 20 "
                "seconds\n      why: "));
  const Report other = LintAsReport(report);
  EXPECT_EQ(other.refusals(), 0U);
  EXPECT_EQ(other.warnings(), 2U);
}

TEST(LintTest, WhatAnApiServerRefusesIsAnErrorAndNotSaidTwice) {
  const std::string policy = R"yaml(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
  validations:
  - expression: EXPRESSION
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: b}
spec: {policyName: p, validationActions: [Deny]}
)yaml";
  for (const char* wrong : {"object.spec.replicas <=", "objct.spec.replicas > 1", "1 + 1"}) {
    const LintReport report = LintText(base::ReplaceAll(policy, "EXPRESSION", wrong));
    std::set<std::string> ids = IdsOf(report);
    EXPECT_TRUE(ids.contains("rule-is-refused")) << wrong;
    EXPECT_FALSE(ids.contains("expression-fits-no-kind")) << wrong;
    EXPECT_EQ(report.findings[0].place.ToString(), "m.yaml:9:5") << wrong;
    EXPECT_TRUE(report.findings[0].message.starts_with("spec.validations[0].expression: "))
        << wrong;
  }
  // A field that the kind does not have is accepted, and never holds.
  const auto misspelt =
      IdsOf(LintText(base::ReplaceAll(policy, "EXPRESSION", "object.spec.replcas > 1")));
  EXPECT_TRUE(misspelt.contains("expression-fits-no-kind"));
  EXPECT_FALSE(misspelt.contains("rule-is-refused"));
  const auto unknown = IdsOf(LintText(base::ReplaceAll(policy, "policyName", "policy")));
  EXPECT_TRUE(unknown.contains("rule-is-refused"));
}

constexpr char kTwice[] = R"yaml(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  validations:
  - expression: size(object.metadata.name) < 9   # first
  - expression: "true"
  - expression: size(object.metadata.name) < 9
    message: again
  - expression: object.metadata.name != 'a'
---
apiVersion: batch/v1beta1   # old
kind: CronJob
metadata: {name: c}
)yaml";

TEST(LintTest, FixesChangeNothingButWhatIsFound) {
  std::string text = kTwice;
  int rounds = 0;
  for (; rounds < 10; ++rounds) {
    std::vector<Problem> problems;
    const auto files = CorrectFiles(LintCorrections(LintText(text)), problems);
    EXPECT_THAT(problems, IsEmpty());
    if (files.empty()) break;
    ASSERT_THAT(files, SizeIs(1));
    text = files[0].text;
  }
  EXPECT_EQ(rounds, 2);  // two of one list
  std::string wanted = base::ReplaceAll(kTwice, "  - expression: \"true\"\n", "");
  wanted = base::ReplaceAll(
      wanted, "  - expression: size(object.metadata.name) < 9\n    message: again\n", "");
  EXPECT_EQ(text, base::ReplaceAll(wanted, "batch/v1beta1", "batch/v1"));
}

std::string PodOfVariables(int count) {
  std::string text = R"yaml(---
apiVersion: v1
kind: Pod
metadata: {name: large}
spec:
  containers:
  - name: a
    image: a:1
    env:
)yaml";
  for (int i = 0; i < count; ++i) {
    text += base::StrCat("    - {name: VARIABLE_", std::to_string(i), ", value: a}\n");
  }
  return text;
}

// 300 variables in a container, each compared with all: about 0.8 million of the million.
TEST(LintTest, MeasuresCostsWithTheManifestsOfTheFiles) {
  const std::string text = R"yaml(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
    namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system]}]}
  validations:
  - expression: >-
      object.spec.containers.all(c, !has(c.env) || c.env.all(e, c.env.exists(f, f.name == e.name + 'x' || true)))
  - expression: >-
      object.spec.containers.all(c, !has(c.env) || c.env.all(e, c.env.exists_one(f, f.name == e.name)))
)yaml";
  const LintReport report = LintText(text + PodOfVariables(300));
  std::vector<std::string> found;
  for (const Finding& finding : report.findings) {
    if (finding.rule->id == "expression-over-budget") found.push_back(finding.message);
  }
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0], HasSubstr("for the CREATE of Pod large (m.yaml:"));
}

// 1,000 variables, each compared with all: more than the million.
TEST(LintTest, MeasuresMatchConditionsOfWebhooks) {
  const std::string text = std::string(kHook) + R"yaml(
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  matchConditions:
  - name: quadratic
    expression: >-
      !has(object.spec.volumes) || object.spec.containers.all(c, object.spec.volumes.exists(v, v.name == c.name))
  - name: costly
    expression: >-
      object.spec.containers.all(c, !has(c.env) || c.env.all(e, c.env.exists_one(f, f.name == e.name)))
)yaml";
  const LintReport report = LintText(text + PodOfVariables(1000));
  std::vector<std::string> found;
  for (const Finding& finding : report.findings) {
    if (!finding.rule->id.starts_with("expression-")) continue;
    found.push_back(
        base::StrCat(finding.place.ToString(), " ", finding.rule->id, ": ", finding.message));
  }
  EXPECT_THAT(
      found,
      ElementsAre(HasSubstr("m.yaml:14:5 expression-may-exceed-budget: for a Pod of "),
                  HasSubstr("m.yaml:17:5 expression-over-budget: the expression costs more than "
                            "1000000 for the CREATE of Pod large (m.yaml:")));
}

TEST(LintTest, TriesMatchConditionsOfWebhooks) {
  const LintReport report = LintText(std::string(kHook) + R"yaml(
  rules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]
  matchConditions: [{name: a, expression: "object.spec.template.spec.nodeName != 'a'"}]
)yaml");
  const auto found =
      std::find_if(report.findings.begin(), report.findings.end(),
                   [](const Finding& one) { return one.rule->id == "expression-fails"; });
  ASSERT_NE(found, report.findings.end());
  EXPECT_EQ(found->place.ToString(), "m.yaml:12:31");
  EXPECT_EQ(found->message,
            "the expression fails for the CREATE of a plain Deployment: no such key: nodeName");
}

std::string CertificateText(const pki::KeyPair& authority, const pki::KeyPair& serving) {
  return base::StrCat(R"yaml(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hook}
webhooks:
- name: h.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  timeoutSeconds: 3
  clientConfig:
    service: {namespace: hooks, name: hook}
    caBundle: )yaml",
                      base::Base64Encode(authority.certificate_pem), R"yaml(
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  namespaceSelector:
    matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, hooks]}]
---
apiVersion: v1
kind: Service
metadata: {name: hook, namespace: hooks}
spec: {selector: {app: hook}, ports: [{port: 443}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: hook, namespace: hooks}
spec:
  selector: {matchLabels: {app: hook}}
  template:
    metadata: {labels: {app: hook, other: label}}
    spec:
      containers: [{name: a, image: "a:1"}]
      volumes: [{name: tls, secret: {secretName: hook-tls}}]
---
apiVersion: v1
kind: Secret
metadata: {name: hook-tls, namespace: hooks}
type: kubernetes.io/tls
data: {tls.crt: )yaml",
                      base::Base64Encode(serving.certificate_pem),
                      ", tls.key: ", base::Base64Encode(serving.key_pem), "}\n");
}

TEST(LintTest, CertificatesInSecretsFitTheirWebhooks) {
  const base::WallTime now = base::SystemClock().Now();
  const auto authority = pki::MakeAuthority("a", now);
  const auto other = pki::MakeAuthority("b", now);
  ASSERT_TRUE(authority.ok() && other.ok());
  const auto issue = [&](const pki::KeyPair& by, const std::string& name, int days = 365) {
    auto issued = pki::Issue(
        by, {.common_name = "hook", .dns_names = {name}, .server = true, .valid_days = days}, now);
    EXPECT_TRUE(issued.ok());
    return issued.ok() ? *issued : pki::KeyPair();
  };
  const auto found = [&](const pki::KeyPair& serving) {
    std::vector<std::string> messages;
    for (const Finding& finding : LintText(CertificateText(*authority, serving)).findings) {
      EXPECT_EQ(finding.place.file, "m.yaml");
      EXPECT_GE(finding.place.line, 9U) << finding.message;
      EXPECT_LE(finding.place.line, 11U) << finding.message;
      messages.push_back(base::StrCat(finding.rule->id, ": ", finding.message));
    }
    return messages;
  };
  EXPECT_THAT(found(issue(*authority, "hook.hooks.svc")), IsEmpty());
  const std::string begins =
      "webhook-certificate: the certificate of Secret hook-tls (m.yaml:32:1), which the pods of "
      "webhook "
      "h.example.com mount, is not good for it: x509: ";
  EXPECT_THAT(
      found(issue(*authority, "hook.default.svc")),
      ElementsAre(begins + "certificate is valid for hook.default.svc, not hook.hooks.svc"));
  EXPECT_THAT(found(issue(*other, "hook.hooks.svc")),
              ElementsAre(HasSubstr(begins + "certificate signed by unknown authority")));
  for (const std::string& message : found(issue(*authority, "hook.hooks.svc", 7))) {
    EXPECT_THAT(
        message,
        HasSubstr("webhook-certificate-expires: the certificate of Secret hook-tls (m.yaml:"));
  }
  EXPECT_THAT(found(issue(*authority, "hook.hooks.svc", 7)), SizeIs(1));
}

TEST(LintTest, ShowsWhatAnotherOrderOfMutatorsMakes) {
  const auto text = base::ReadFile((std::filesystem::path(PC_SOURCE_DIR) /
                                    "src/offline/lint/testdata/gatekeeper-1133/objects.yaml")
                                       .string());
  ASSERT_TRUE(text.ok());
  const LintReport report = LintText(*text);
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(
      report.findings[0].message,
      "policy cheap and policy fast make different objects of a plain Pod in the other order: "
      "spec.schedulerName is \"fast\" or \"cheap\"");
}

TEST(LintTest, CommentsWithAReasonKeepFindingsQuiet) {
  const LintReport report =
      LintText(std::string(kHook) + "  # portcullis:ignore webhook-long-timeout it is far away\n");
  EXPECT_EQ(IdsOf(report), std::set<std::string>{"webhook-fails-open"});
  EXPECT_EQ(report.ignored, 1U);
  const LintReport all = LintText("# portcullis:ignore webhook-fails-open audited elsewhere\n" +
                                  std::string(kHook) + "\n");
  EXPECT_EQ(IdsOf(all), std::set<std::string>{"webhook-long-timeout"});
}

TEST(LintTest, CommentsWithoutAReasonAreProblems) {
  const LintReport report =
      LintText(std::string(kHook) + "  # portcullis:ignore webhook-long-timeout\n");
  EXPECT_THAT(report.findings, SizeIs(2));
  ASSERT_THAT(report.problems, SizeIs(1));
  EXPECT_EQ(report.problems[0].message, "portcullis:ignore has no reason: webhook-long-timeout");
  EXPECT_EQ(LintText("# portcullis:ignore x y\n" + std::string(kHook)).problems[0].message,
            "portcullis:ignore names no rule: x");
}

}  // namespace
}  // namespace portcullis::offline
