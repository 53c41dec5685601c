// SPDX-License-Identifier: Apache-2.0

#include "offline/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "offline/blame.h"
#include "offline/report/format.h"
#include "offline/testing/limit_policy.h"
#include "offline/webhooks.h"

namespace portcullis::offline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Report JudgeText(const std::string& text, const JudgeOptions& options = {}) {
  Inputs inputs;
  ReadText("m.yaml", text, true, inputs);
  auto report = Judge(inputs, options);
  EXPECT_TRUE(report.ok()) << report.status().message();
  return report.ok() ? *std::move(report) : Report();
}

TEST(JudgeTest, ReportsEveryFailureWithItsFieldAndRule) {
  const Report report = JudgeText(std::string(kPolicy) + kDeployment);
  ASSERT_THAT(report.results, SizeIs(3));
  const Result& result = report.results[2];
  EXPECT_EQ(result.verdict, Verdict::kDeny);
  EXPECT_EQ(result.code, 422);
  ASSERT_THAT(result.failures, SizeIs(2));
  EXPECT_EQ(result.failures[0].message,
            "deployments.apps \"web\" is forbidden: ValidatingAdmissionPolicy 'limit' with binding "
            "'limit' denied request: not 7");
  EXPECT_EQ(result.message, result.failures[0].message);
  EXPECT_EQ(result.failures[0].place.ToString(), "m.yaml:25:3");
  EXPECT_EQ(result.failures[0].rule.ToString(), "m.yaml:11:5");
  EXPECT_EQ(result.failures[1].place.ToString(), "m.yaml:23:1");
  EXPECT_THAT(result.failures[1].message, HasSubstr("no owner"));
}

TEST(JudgeTest, TracedFailuresHaveTheValuesOfTheirExpressions) {
  Inputs inputs;
  ReadText("m.yaml", std::string(kPolicy) + kDeployment, true, inputs);
  inputs.own = inputs.manifests.size();
  JudgeOptions options;
  options.traces = true;
  const auto report = Judge(inputs, options);
  ASSERT_TRUE(report.ok());
  const Result& result = report->results[2];
  ASSERT_THAT(result.failures, SizeIs(2));
  EXPECT_THAT(result.failures[0].values,
              ElementsAre(std::pair<std::string, std::string>("variables.count", "7")));
  EXPECT_EQ(result.failures[1].expression, "'owner' in object.metadata.?labels.orValue({})");
}

TEST(JudgeTest, AdmitsAndShowsTheObject) {
  const Report report = JudgeText(kDeployment);
  EXPECT_EQ(report.results[0].verdict, Verdict::kAllow);
  EXPECT_EQ(report.results[0].code, 201);
  EXPECT_THAT(report.results[0].object, HasSubstr("\"progressDeadlineSeconds\":600"));
  EXPECT_EQ(report.results[0].ns, "default");
}

TEST(JudgeTest, JudgesPoliciesBeforeWhatTheyJudgeWhateverTheOrder) {
  const Report report = JudgeText(std::string(kDeployment) + "---\n" + kPolicy);
  EXPECT_EQ(report.results[0].verdict, Verdict::kDeny);
}

TEST(JudgeTest, ValidationFailuresHaveTheirFields) {
  const Report report = JudgeText(
      "apiVersion: v1\nkind: Pod\nmetadata: {name: UP}\nspec:\n  containers:\n"
      "  - name: a\n    image: \"\"\n");
  ASSERT_THAT(report.results[0].failures, SizeIs(2));
  EXPECT_EQ(report.results[0].failures[0].path, "metadata.name");
  EXPECT_EQ(report.results[0].failures[0].place.line, 3U);
  EXPECT_EQ(report.results[0].failures[1].path, "spec.containers[0].image");
  EXPECT_EQ(report.results[0].failures[1].place.ToString(), "m.yaml:7:5");
}

TEST(JudgeTest, UnknownFieldsAreRefusedAtTheirPlace) {
  const std::string text =
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {}\nspec: {}\n";
  const Report report = JudgeText(text);
  EXPECT_EQ(report.results[0].code, 400);
  EXPECT_THAT(report.results[0].message, HasSubstr("unknown field \"spec\""));
  EXPECT_EQ(report.results[0].failures[0].place.line, 5U);
  JudgeOptions options;
  options.cluster.validation = engine::FieldValidation::kWarn;
  const Report warned = JudgeText(text, options);
  EXPECT_EQ(warned.results[0].verdict, Verdict::kAllow);
  EXPECT_THAT(warned.results[0].warnings, ElementsAre("unknown field \"spec\""));
}

TEST(JudgeTest, JudgesThePodsOfWorkloads) {
  const Report report =
      JudgeText(std::string("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: default\n"
                            "  labels: {pod-security.kubernetes.io/enforce: baseline}\n---\n") +
                R"(apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 0 * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: shell
            image: busybox
            securityContext: {privileged: true}
)");
  EXPECT_EQ(report.results[0].code, 201) << "the namespace default is what the file says";
  EXPECT_EQ(report.results[1].failures[0].source, "PodSecurity");
  const Report own = JudgeText(
      R"(apiVersion: v1
kind: Namespace
metadata: {name: team, labels: {pod-security.kubernetes.io/enforce: baseline}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: team}
spec:
  schedule: "0 0 * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: shell
            image: busybox
            securityContext: {privileged: true}
)");
  const Result& result = own.results[1];
  ASSERT_EQ(result.verdict, Verdict::kDeny);
  EXPECT_EQ(result.failures[0].subject, "pod of CronJob nightly");
  EXPECT_EQ(result.failures[0].source, "PodSecurity");
  EXPECT_EQ(result.failures[0].place.line, 16U);
}

TEST(JudgeTest, QuotasCountThePodsOfAllReplicas) {
  const Report report = JudgeText(std::string(R"(apiVersion: v1
kind: ResourceQuota
metadata: {name: few}
spec: {hard: {pods: "3"}}
---
)") + kDeployment);
  const Result& result = report.results[1];
  ASSERT_THAT(result.failures, SizeIs(1));
  EXPECT_EQ(result.failures[0].subject, "pod 4 of 7 of Deployment web");
  EXPECT_THAT(result.failures[0].message, HasSubstr("exceeded quota: few"));
}

TEST(JudgeTest, EachOfSeveralQuotasIsInForce) {
  std::string text;
  for (int i = 0; i < 40; ++i) {
    const std::string n = std::to_string(i);
    text += "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q" + n + ", namespace: n" + n +
            "}\nspec: {hard: {configmaps: \"0\"}}\n---\napiVersion: v1\nkind: ConfigMap\n"
            "metadata: {name: c, namespace: n" +
            n + "}\n---\n";
  }
  const Report report = JudgeText(text);
  EXPECT_EQ(report.Count(Verdict::kDeny), 40U);
  EXPECT_THAT(report.results[79].message, HasSubstr("exceeded quota: q39"));
}

TEST(JudgeTest, MakesMissingNamespacesUnlessStrict) {
  const std::string text =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: x}\n"
      "spec: {serviceAccountName: robot, containers: [{name: a, image: a}]}\n";
  const Report report = JudgeText(text);
  EXPECT_EQ(report.results[0].verdict, Verdict::kAllow);
  EXPECT_THAT(report.notes, SizeIs(2));
  JudgeOptions options;
  options.strict = true;
  const Report strict = JudgeText(text, options);
  EXPECT_EQ(strict.results[0].message, "namespaces \"x\" not found");
  EXPECT_EQ(strict.results[0].code, 404);
  EXPECT_THAT(strict.notes, IsEmpty());
}

TEST(JudgeTest, PoliciesJudgeNamespacesThatOthersNeed) {
  const Report report = JudgeText(R"(apiVersion: v1
kind: Pod
metadata: {name: a, namespace: team}
spec: {containers: [{name: a, image: a}]}
---
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: labels}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [namespaces]}
  validations:
  - expression: has(object.metadata.labels) && 'owner' in object.metadata.labels
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: labels}
spec: {policyName: labels, validationActions: [Deny]}
)");
  EXPECT_EQ(report.results[0].verdict, Verdict::kAllow);
  EXPECT_EQ(report.results[1].verdict, Verdict::kDeny);
}

TEST(JudgeTest, ServiceAccountsOfFilesTakeThePlaceOfThoseOfControllers) {
  const std::string account =
      "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: default}\n"
      "automountServiceAccountToken: false\n---\n";
  const Report report = JudgeText(account +
                                  "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
                                  "spec: {containers: [{name: a, image: a}]}\n---\n" +
                                  account);
  EXPECT_EQ(report.results[0].verdict, Verdict::kAllow);
  EXPECT_THAT(report.results[1].object, Not(HasSubstr("kube-api-access")));
  EXPECT_EQ(report.results[2].code, 409);
}

TEST(JudgeTest, DuplicatesNameEachOther) {
  const std::string one = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
  const Report report = JudgeText(one + "---\n" + one);
  EXPECT_EQ(report.results[1].message, "configmaps \"a\" already exists");
  EXPECT_EQ(report.results[1].failures[0].advice, "the same object stands at m.yaml:1:1");
}

TEST(JudgeTest, KindsThatAreNotServedAreErrors) {
  const Report report =
      JudgeText("apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\n");
  EXPECT_EQ(report.results[0].verdict, Verdict::kError);
  EXPECT_EQ(report.results[0].message,
            "no matches for kind \"Widget\" in version \"example.com/v1\"");
  EXPECT_THAT(report.results[0].failures[0].advice, HasSubstr("CustomResourceDefinition"));
}

constexpr char kWebhook[] = R"(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hooks}
webhooks:
- name: hook.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {url: "https://127.0.0.1:1/"}
  rules:
  - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
)";

TEST(JudgeTest, NamesTheWebhooksThatItDoesNotCall) {
  const auto plan = PlanWebhooks("skip");
  ASSERT_TRUE(plan.ok());
  JudgeOptions options;
  options.stand_in = plan->stand_in.get();
  const Report report = JudgeText(kWebhook, options);
  EXPECT_EQ(report.results[1].verdict, Verdict::kAllow);
  EXPECT_THAT(report.results[1].webhooks_not_called, ElementsAre("hooks/hook.example.com"));
}

class Denies final : public admission::WebhookStandIn {
 public:
  std::optional<admission::WebhookAnswer> AnswerFor(std::string_view,
                                                    std::string_view) const override {
    const json::Value status =
        json::MakeObject(arena_, {{"message", json::Value::StringView("no")}});
    return admission::WebhookAnswer{
        json::MakeObject(arena_, {{"allowed", json::Value::Bool(false)}, {"status", status}})};
  }

 private:
  mutable json::Arena arena_;
};

TEST(JudgeTest, TakesAnswersForThoseOfWebhooks) {
  const Denies denies;
  JudgeOptions options;
  options.stand_in = &denies;
  const Report report = JudgeText(kWebhook, options);
  EXPECT_EQ(report.results[1].message,
            "admission webhook \"hook.example.com\" denied the request: no");
  EXPECT_EQ(report.results[1].failures[0].rule.ToString(), "m.yaml:5:3");
}

TEST(JudgeTest, AsAUserHasTheRightsOfRbac) {
  JudgeOptions options;
  options.cluster.as = "alice";
  const Report report = JudgeText(
      "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r}\n"
      "rules: [{apiGroups: [\"\"], resources: [secrets], verbs: [get]}]\n",
      options);
  EXPECT_EQ(report.results[0].code, 403);
  EXPECT_THAT(report.results[0].message, HasSubstr("user \"alice\""));
}

// Requests as a webhook receives them, and a policy that forbids to change or delete what is kept.
constexpr char kReviews[] = R"yaml(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: keep}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps]}
  validations:
  - expression: request.operation == 'CREATE' || oldObject.data.keep != 'yes'
    messageExpression: "request.operation + ' by ' + request.userInfo.username"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: keep}
spec: {policyName: keep, validationActions: [Deny]}
---
apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  uid: a
  operation: UPDATE
  resource: {group: "", version: v1, resource: configmaps}
  namespace: team
  name: a
  userInfo: {username: alice, groups: [dev]}
  object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: team, uid: x}, data: {keep: "no"}}
  oldObject: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: team, uid: x}, data: {keep: "yes"}}
---
apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  uid: b
  operation: DELETE
  resource: {group: "", version: v1, resource: configmaps}
  namespace: team
  name: a
  userInfo: {username: bob}
  oldObject: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: team}, data: {keep: "yes"}}
---
apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  uid: c
  operation: UPDATE
  resource: {group: "", version: v1, resource: configmaps}
  namespace: team
  name: a
  object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: team}, data: {keep: "yes"}}
  oldObject: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: team}, data: {keep: "no"}}
)yaml";

TEST(JudgeTest, JudgesRecordedReviewsOfEveryOperation) {
  const Report report = JudgeText(kReviews);
  ASSERT_THAT(report.results, SizeIs(5));
  EXPECT_EQ(report.results[2].operation, "UPDATE");
  EXPECT_THAT(report.results[2].message, HasSubstr("denied request: UPDATE by alice"));
  EXPECT_EQ(report.results[2].place.ToString(), "m.yaml:26:3");
  EXPECT_THAT(report.results[3].message, HasSubstr("denied request: DELETE by bob"));
  EXPECT_EQ(report.results[4].verdict, Verdict::kAllow) << report.results[4].message;
  EXPECT_EQ(report.results[4].code, 200);
  EXPECT_EQ(report.results[4].name, "a");
}

// What every cluster has is made when it is asked for.
TEST(JudgeTest, PoliciesSeeTheRolesOfEveryCluster) {
  const Report report = JudgeText(R"yaml(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: rights}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  validations:
  - expression: >-
      authorizer.serviceAccount('kube-system', 'replicaset-controller').group('').resource('pods')
      .namespace('x').check('create').allowed()
  - expression: >-
      !authorizer.serviceAccount('default', 'default').group('').resource('pods').check('create').allowed()
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: rights}
spec: {policyName: rights, validationActions: [Deny]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
)yaml");
  EXPECT_EQ(report.results[2].verdict, Verdict::kAllow) << report.results[2].message;
  const Report role = JudgeText(
      "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: view}\n");
  EXPECT_EQ(role.results[0].code, 409);
}

TEST(JudgeTest, ManifestsOfStoredObjectsAreUpdates) {
  const std::string rule =
      "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\n"
      "metadata: {name: grow}\nspec:\n  matchConstraints:\n    resourceRules:\n"
      "    - {apiGroups: [''], apiVersions: [v1], operations: [UPDATE, DELETE], resources: "
      "[configmaps]}\n  validations:\n"
      "  - {expression: 'request.operation == \"UPDATE\" && object.data.size >= "
      "oldObject.data.size', "
      "message: shrinks}\n"
      "---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\n"
      "metadata: {name: grow}\nspec: {policyName: grow, validationActions: [Deny]}\n---\n";
  const auto map = [](const std::string& n) {
    return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {size: '" + n + "'}\n";
  };
  Inputs old;
  ReadText("old.yaml", map("5"), true, old);
  Inputs inputs;
  ReadText("m.yaml", rule + map("4"), true, inputs);
  inputs.own = inputs.manifests.size();
  inputs.given = old.manifests;
  JudgeOptions options;
  const auto updated = Judge(inputs, options);
  ASSERT_TRUE(updated.ok());
  EXPECT_EQ(updated->results[2].operation, "UPDATE");
  EXPECT_THAT(updated->results[2].message, HasSubstr("denied request: shrinks"));
  options.asks = Asks::kDelete;
  const auto deleted = Judge(inputs, options);
  EXPECT_EQ(deleted->results[2].operation, "DELETE");
  EXPECT_EQ(deleted->results[2].verdict, Verdict::kDeny);
  EXPECT_EQ(deleted->results[0].verdict, Verdict::kAllow);
}

TEST(JudgeTest, AppliesWithManagersAndConflicts) {
  Inputs inputs;
  ReadText("m.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {size: '2'}\n",
           true, inputs);
  inputs.own = 1;
  Inputs old;
  ReadText("old.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {size: '1'}\n",
           true, old);
  inputs.given = old.manifests;
  JudgeOptions options;
  options.asks = Asks::kApply;
  options.cluster.field_manager = "mine";
  const auto report = Judge(inputs, options);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->results[0].operation, "APPLY");
  EXPECT_EQ(report->results[0].code, 409);
  EXPECT_THAT(report->results[0].message, HasSubstr("conflict"));
  options.force_conflicts = true;
  EXPECT_THAT(Judge(inputs, options)->results[0].object, HasSubstr("\"manager\":\"mine\""));
}

TEST(JudgeTest, JudgesThePodsOfKindsThatFlagsName) {
  Inputs inputs;
  ReadText("m.yaml", R"(apiVersion: v1
kind: Namespace
metadata: {name: default, labels: {pod-security.kubernetes.io/enforce: baseline}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: rollouts.argoproj.io}
spec:
  group: argoproj.io
  scope: Namespaced
  names: {kind: Rollout, plural: rollouts}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: argoproj.io/v1
kind: Rollout
metadata: {name: web}
spec: {template: {spec: {hostNetwork: true, containers: [{name: a, image: a}]}}}
)",
           true, inputs);
  JudgeOptions options;
  EXPECT_EQ(Judge(inputs, options)->results[2].verdict, Verdict::kAllow);
  options.pod_templates.push_back(*ReadPodTemplate("argoproj.io/Rollout=spec.template"));
  const auto report = Judge(inputs, options);
  ASSERT_THAT(report->results[2].failures, SizeIs(1));
  EXPECT_EQ(report->results[2].failures[0].subject, "pod of Rollout web");
  EXPECT_EQ(report->results[2].failures[0].place.line, 21U);
  EXPECT_FALSE(ReadPodTemplate("Rollout").ok());
}

TEST(BlameTest, ReadsFieldsOfExpressions) {
  EXPECT_THAT(FieldsOf("object.spec.replicas <= 5 && has(object.metadata.labels)"),
              ElementsAre("spec.replicas", "metadata.labels"));
  EXPECT_THAT(FieldsOf("object.spec.containers.all(c, c.x) || oldObject.spec.a"),
              ElementsAre("spec.containers"));
  EXPECT_THAT(FieldsOf("object.metadata.?labels['a.b/c'].hasValue()"),
              ElementsAre("metadata.labels[a.b/c]"));
}

TEST(BlameTest, ReadsPathsOfFields) {
  EXPECT_THAT(FieldSteps("spec.containers[0].resources.limits[cpu]"),
              ElementsAre("spec", "containers", "0", "resources", "limits", "cpu"));
  EXPECT_THAT(FieldSteps("metadata.labels[a.b/c]"), ElementsAre("metadata", "labels", "a.b/c"));
}

TEST(FormatTest, EveryFormWritesEveryReport) {
  const Report report = JudgeText(std::string(kPolicy) + kDeployment);
  for (const Format& format : Formats()) {
    const std::string text = format.write(report, {});
    EXPECT_THAT(text, HasSubstr("m.yaml")) << format.name;
    EXPECT_THAT(text, HasSubstr("not 7")) << format.name;
    EXPECT_THAT(text, testing::Not(HasSubstr("\x1b["))) << format.name;
    const bool may_be_empty = format.name == "github" || format.name == "azuredevops";
    EXPECT_FALSE(format.write({}, {}).empty() && !may_be_empty) << format.name;
  }
}

TEST(FormatTest, EscapesTextsForEachForm) {
  Report report;
  Result result;
  result.place = {"a,b.yaml", 1, 2};
  result.verdict = Verdict::kDeny;
  result.failures.push_back(
      {.source = "x", .message = "<a> & \"b\" | 100%\nc", .place = {"a,b.yaml", 1, 2}});
  report.results.push_back(result);
  EXPECT_EQ(FindFormat("github")->write(report, {}),
            "::error file=a%2Cb.yaml,line=1,col=2,title=x::<a> & \"b\" | 100%25%0Ac\n");
  EXPECT_THAT(FindFormat("junit")->write(report, {}),
              HasSubstr("&lt;a&gt; &amp; &quot;b&quot; | 100%&#10;c"));
  EXPECT_THAT(FindFormat("markdown")->write(report, {}), HasSubstr("\\| 100%<br>c"));
}

}  // namespace
}  // namespace portcullis::offline
