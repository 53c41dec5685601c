// SPDX-License-Identifier: Apache-2.0

// Test files of other tools, read as they are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/strings.h"
#include "offline/judge.h"
#include "offline/suites/suite_format.h"

namespace portcullis::offline {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kSuitePolicy[] = R"yaml(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: needs-owner}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps]}
  matchConditions:
  - {name: not-mine, expression: "request.userInfo.username != 'me'"}
  validations:
  - expression: "request.operation == 'DELETE' || 'owner' in object.metadata.?labels.orValue({})"
    message: no owner
)yaml";

constexpr char kMaps[] = R"yaml(apiVersion: v1
kind: ConfigMap
metadata: {name: owned, labels: {owner: a}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: lost}
)yaml";

class FormatsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("offline_formats_test." + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) const {
    const auto path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  Report Run(const std::string& path = "") const {
    InputOptions options;
    options.paths = {(folder_ / path).string()};
    auto report = RunTests(ReadInputs(options), {});
    EXPECT_TRUE(report.ok());
    return report.ok() ? *std::move(report) : Report();
  }

  static void ExpectAllPass(const Report& report, std::size_t count) {
    for (const Problem& problem : report.problems) {
      ADD_FAILURE() << problem.place.ToString() << ": " << problem.message;
    }
    EXPECT_EQ(report.results.size(), count);
    for (const Result& result : report.results) {
      EXPECT_EQ(result.verdict, Verdict::kPass) << result.name << ": " << result.message;
    }
  }

  std::filesystem::path folder_;
};

TEST_F(FormatsTest, ReadsKyvernoTests) {
  Write("policy.yaml", kSuitePolicy);
  Write("maps.yaml", kMaps);
  Write("user.yaml",
        "apiVersion: cli.kyverno.io/v1alpha1\nkind: UserInfo\nuserInfo: {username: b}\n");
  Write("other.yaml", "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: other}\n");
  Write("kyverno-test.yaml", R"yaml(apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata: {name: t}
policies: [policy.yaml, other.yaml]
resources: [maps.yaml]
userinfo: user.yaml
results:
- {policy: needs-owner, isValidatingAdmissionPolicy: true, kind: ConfigMap, resources: [owned], result: pass}
- {policy: needs-owner, isValidatingAdmissionPolicy: true, kind: ConfigMap, resources: [default/lost, lost], result: fail}
- {policy: other, rule: r, kind: ConfigMap, resources: [lost], result: pass}
)yaml");
  Report report = Run();
  ASSERT_THAT(report.results, SizeIs(3));
  EXPECT_EQ(report.results[2].verdict, Verdict::kSkip);
  EXPECT_EQ(report.results[2].message, "policy other (ClusterPolicy) needs Kyverno");
  report.results.pop_back();
  ExpectAllPass(report, 2);
}

TEST_F(FormatsTest, KyvernoTestsHaveNoUnknownFieldsAndResults) {
  Write(
      "t.yaml",
      "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\npolicies: []\nresources: []\nresult: []\n");
  EXPECT_THAT(Run().problems[0].message,
              HasSubstr("unknown field \"result\" (did you mean results?)"));
  Write("t.yaml", "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\npolicies: []\nresources: []\n");
  EXPECT_EQ(Run().problems[0].message, "the test has no results");
}

constexpr char kTemplate[] = R"yaml(apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: k8sowner}
spec:
  crd:
    spec:
      names: {kind: K8sOwner}
      validation: {openAPIV3Schema: {type: object, properties: {label: {type: string}}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    code:
    - engine: K8sNativeValidation
      source:
        validations:
        - expression: "variables.params.label in variables.anyObject.metadata.?labels.orValue({})"
          messageExpression: "'missing label ' + variables.params.label"
)yaml";

TEST_F(FormatsTest, ReadsGatorSuites) {
  Write("template.yaml", kTemplate);
  Write("rego.yaml",
        "apiVersion: templates.gatekeeper.sh/v1\nkind: ConstraintTemplate\nmetadata: {name: old}\n"
        "spec: {targets: [{target: a, rego: b}]}\n");
  Write("constraint.yaml", R"yaml(apiVersion: constraints.gatekeeper.sh/v1beta1
kind: K8sOwner
metadata: {name: c}
spec:
  match: {kinds: [{apiGroups: [""], kinds: [ConfigMap]}], excludedNamespaces: ["kube-*"]}
  parameters: {label: owner}
)yaml");
  Write("lost.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
  Write("system.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: kube-system}\n");
  Write("review.yaml", R"yaml(apiVersion: admission.k8s.io/v1beta1
kind: AdmissionReview
request:
  operation: UPDATE
  object: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {owner: a}}}
  oldObject: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
)yaml");
  Write("suite.yaml", R"yaml(apiVersion: test.gatekeeper.sh/v1alpha1
kind: Suite
metadata: {name: s}
tests:
- name: owner
  template: template.yaml
  constraint: constraint.yaml
  cases:
  - {name: lost, object: lost.yaml, assertions: [{violations: 1, message: "^.*missing label owner$"}]}
  - {name: lost too, object: lost.yaml, assertions: [{violations: yes}, {violations: no, message: other}]}
  - {name: excluded, object: system.yaml, assertions: [{violations: no}]}
  - {name: update, object: review.yaml, assertions: [{violations: 0}]}
- name: rego
  template: rego.yaml
  constraint: constraint.yaml
  cases:
  - {name: a, object: lost.yaml, assertions: [{violations: yes}]}
)yaml");
  Report report = Run();
  ASSERT_THAT(report.results, SizeIs(5));
  EXPECT_EQ(report.results[4].message, "template old (Rego) needs Gatekeeper");
  report.results.pop_back();
  ExpectAllPass(report, 4);
}

TEST_F(FormatsTest, ReadsKatFiles) {
  Write("policy.yaml", kSuitePolicy);
  Write("tests/needs-owner.has.allow.object.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {owner: a}}\n");
  Write("tests/needs-owner.lost.deny.object.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
  Write("tests/needs-owner.lost.deny.message.txt", "no owner\n");
  Write("tests/needs-owner.mine.allow.object.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
  Write("tests/needs-owner.mine.allow.request.yaml",
        "userInfo: {username: me}\nnamespaceObject: {metadata: {name: team, labels: {a: b}}}\n");
  Write("tests/needs-owner.gone.allow.oldObject.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
  ExpectAllPass(Run(), 4);
}

TEST_F(FormatsTest, ReadsKaptest) {
  Write("policy.yaml", kSuitePolicy);
  Write("maps.yaml", kMaps);
  Write("kaptest.yaml", R"yaml(validatingAdmissionPolicies: [policy.yaml]
resources: [maps.yaml]
testSuites:
- policy: needs-owner
  tests:
  - {object: {kind: ConfigMap, name: owned}, expect: admit}
  - {object: {kind: ConfigMap, name: lost}, expect: deny}
  - {object: {kind: ConfigMap, name: lost}, oldObject: {kind: ConfigMap, name: owned}, expect: deny}
  - {oldObject: {kind: ConfigMap, name: lost}, expect: allow}
  - {object: {kind: ConfigMap, name: lost}, userInfo: {user: me}, expect: skip}
)yaml");
  ExpectAllPass(Run(), 5);
}

TEST_F(FormatsTest, ReadsTestsOfKubescape) {
  Write("configuration/definition.yaml", R"yaml(apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: controls.kubescape.io}
spec:
  group: kubescape.io
  scope: Cluster
  names: {kind: Control, plural: controls}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
)yaml");
  Write("test-resources/default-control-configuration.yaml",
        "apiVersion: kubescape.io/v1\nkind: Control\nmetadata: {name: x}\nsettings: {most: 3}\n");
  Write("test-resources/policy-binding.yaml", R"yaml(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: x}
spec: {policyName: x, validationActions: [Deny], paramRef: {name: x, parameterNotFoundAction: Deny}}
)yaml");
  Write("test-resources/map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
  Write("controls/c/policy.yaml", R"yaml(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: c}
spec:
  paramKind: {apiVersion: kubescape.io/v1, kind: Control}
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  validations: [{expression: "object.?data.orValue({}).size() <= params.settings.most"}]
)yaml");
  Write("controls/c/tests.json", R"yaml([
    {"name": "few", "template": "map.yaml", "expected": "pass"},
    {"name": "many", "template": "map.yaml", "expected": "fail",
     "field_change_list": ["data.a=x", "data.b=x", "data.c=x", "data.d=x"]}])yaml");
  ExpectAllPass(Run("controls"), 2);
}

// As vap-library writes them, in few words.
constexpr char kGoTest[] = R"go(package maps

import (
	"vap-library/testutils" // and others
)

var mapYAML string = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: %s
  namespace: %s
data:
  size: "%s"
unknown: {to: kinds}
`

var limitYAML = `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: "%s"}, value: %s}`
var podYAML = `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: %s}, spec: {containers: [{name: a, image: "a:1"}]}}`
var patchYAML = `{spec: {ephemeralContainers: [{name: %s, image: "a:1"}]}}`

func TestMain(m *testing.M) {
	var labels = map[string]string{"vap-library.com/maps": "deny"}
	var bindings = map[string]bool{"maps": true}
	testEnv, err = testutils.CreateTestEnv("", false, labels, nil, bindings)
	if err != nil {
		log.Fatalf("no cluster: %s", err)
	}
}

func TestSizes(t *testing.T) {
	f := features.New("Sizes").
		Setup(func(ctx context.Context) context.Context {
			err := testutils.ApplyK8sResourceFromYAML(ctx, cfg, fmt.Sprintf(limitYAML, "maps.vap-library.com", "5"))
			if err != nil {
				t.Fatal(err)
			}
			err = testutils.ApplyK8sResourceFromYAML(ctx, cfg, fmt.Sprintf(podYAML, namespace))
			if err != nil {
				t.Fatal(err)
			}
		}).
		Assess("A small one is accepted", func(ctx context.Context) context.Context {
			/* testutils.ApplyK8sResourceFromYAML(ctx, cfg, "{}") */
			err := testutils.ApplyK8sResourceFromYAML(ctx, cfg, fmt.Sprintf(mapYAML, "small", namespace, "3"))
			if err != nil {
				t.Fatal(err)
			}
		}).
		Assess("A large one is rejected", func(ctx context.Context) context.Context {
			err := testutils.ApplyK8sResourceFromYAML(ctx, cfg, fmt.Sprintf(mapYAML, "large", namespace, "7"))
			if err == nil {
				t.Fatal("accepted")
			}
			if !strings.HasSuffix(err.Error(), fmt.Sprintf("%s is more than %s", "7", "5")) {
				t.Fatal(err)
			}
		}).
		Assess("An ephemeral container is rejected", func(ctx context.Context) context.Context {
			err = client.Resources(namespace).Get(ctx, "a", namespace, pod)
			if err != nil {
				t.Fatal(err)
			}
			patchData := []byte(fmt.Sprintf(patchYAML, "debug"))
			err = client.Resources(namespace).PatchSubresource(ctx, pod, "ephemeralcontainers", patch)
			if err == nil {
				t.Fatal("accepted")
			}
		}).
		Assess("Something else", func(ctx context.Context) context.Context {
			err := testutils.ApplyK8sResourceFromYAML(ctx, cfg, made())
			if err != nil {
				t.Fatal(err)
			}
		})
}
)go";

constexpr char kGoTestPolicy[] = R"yaml(apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: maps.vap-library.com}
spec:
  paramKind: {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass}
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps, pods/ephemeralcontainers]}
  validations:
  - expression: "object.kind == 'Pod' || int(object.data.size) <= params.value"
    messageExpression: "object.data.size + ' is more than ' + string(params.value)"
  - expression: "object.kind != 'Pod' || !has(object.spec.ephemeralContainers)"
)yaml";

TEST_F(FormatsTest, ReadsTheGoTestsOfVapLibrary) {
  Write("policy.yaml", kGoTestPolicy);
  Write("policy_test.go", kGoTest);
  Write("other_test.go", "package other\n");
  Report report = Run();
  ASSERT_THAT(report.results, SizeIs(6));
  EXPECT_EQ(report.results[0].place.ToString(), (folder_ / "policy_test.go").string() + ":34:21");
  EXPECT_EQ(report.results[3].name, "maps/TestSizes/A large one is rejected");
  EXPECT_EQ(report.results[5].message, "objects that Go functions make");
  report.results.pop_back();
  ExpectAllPass(report, 5);
}

TEST_F(FormatsTest, GoTestsFailWhereTheyDoNotHold) {
  Write("policy.yaml", kGoTestPolicy);
  std::string wrong = base::ReplaceAll(kGoTest, "%s is more than %s", "%s is less than %s");
  Write("policy_test.go", base::ReplaceAll(wrong, "\"3\"", "\"9\""));
  Report report = Run();
  ASSERT_THAT(report.results, SizeIs(6));
  EXPECT_EQ(report.results[2].verdict, Verdict::kFail);
  EXPECT_EQ(report.results[3].message.substr(0, 42),
            "no failure ends with \"7 is less than 5\": c");
  // The place of a failure is a line of the text in the program.
  EXPECT_EQ(report.results[2].failures[1].place.ToString(),
            (folder_ / "policy_test.go").string() + ":14:3");
  Write("policy_test.go", "import \"vap-library/testutils\"\n");
  EXPECT_EQ(Run().problems[0].message, "no function of the test has steps");
}

TEST_F(FormatsTest, ReadsChainsawTests) {
  Write("rules.yaml", std::string(kSuitePolicy) +
                          "---\napiVersion: admissionregistration.k8s.io/v1\n"
                          "kind: ValidatingAdmissionPolicyBinding\nmetadata: {name: b}\n"
                          "spec: {policyName: needs-owner, validationActions: [Deny]}\n");
  Write("maps.yaml", kMaps);
  Write("chainsaw-test.yaml", R"yaml(apiVersion: chainsaw.kyverno.io/v1alpha1
kind: Test
metadata: {name: t}
spec:
  steps:
  - name: rules
    try:
    - apply: {file: rules.yaml}
    - create: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: lost}}, expect: [{check: {($error != null): true}}]}
    - apply: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {owner: a}}}}
    - assert: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {owner: a}}}}
    - delete: {ref: {apiVersion: v1, kind: ConfigMap, name: a}}
    - error: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}
)yaml");
  ExpectAllPass(Run(), 7);
  Write("chainsaw-test.yaml", R"yaml(apiVersion: chainsaw.kyverno.io/v1alpha1
kind: Test
metadata: {name: t}
spec: {steps: [{try: [{script: {content: ls}}]}]}
)yaml");
  EXPECT_EQ(Run().results[0].message, "test t: `script` is not run");
}

TEST_F(FormatsTest, TestsThatTestNothingAreErrors) {
  Write("tests.json", "[]");
  EXPECT_THAT(Run().problems, IsEmpty());  // of whatever it is
  Write("policy.yaml", kSuitePolicy);
  ASSERT_THAT(Run().problems, SizeIs(1));
  EXPECT_EQ(Run().problems[0].message, "the list has no tests");
  const auto problem = [this](const std::string& text) {
    Write("tests.json", "{}");
    Write("t.yaml", text);
    const Report report = Run();
    return report.problems.empty() ? "" : report.problems[0].message;
  };
  EXPECT_EQ(problem("apiVersion: test.gatekeeper.sh/v1alpha1\nkind: Suite\ntests: []\n"),
            "the Suite has no tests");
  EXPECT_EQ(problem("validatingAdmissionPolicies: []\ntestSuites: []\n"),
            "testSuites has no suite");
  const std::string chainsaw =
      "apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\nspec: ";
  EXPECT_EQ(problem(chainsaw + "{steps: []}\n"), "the Test has no steps");
  EXPECT_EQ(problem(chainsaw + "{steps: [{name: a}]}\n"), "no step tries anything");
  EXPECT_THAT(problem(chainsaw + "{steps: [{tyr: []}]}\n"), HasSubstr("unknown field \"tyr\""));
  EXPECT_THAT(problem(chainsaw + "{stepz: []}\n"),
              HasSubstr("unknown field \"stepz\" (did you mean steps?)"));
}

TEST_F(FormatsTest, ReplaysAuditLogs) {
  Write(
      "audit.json",
      R"yaml({"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Request","stage":"RequestReceived","requestURI":"/api/v1/namespaces/default/configmaps","verb":"create"}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Request","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/team/configmaps?fieldManager=x","verb":"create","user":{"username":"a"},"responseStatus":{"code":201},"requestObject":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Request","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/team/configmaps/a","verb":"patch","user":{"username":"a"},"responseStatus":{"code":200},"requestObject":{"data":{"x":"y"}}}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Request","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/default/configmaps/b","verb":"delete","user":{"username":"a"},"responseStatus":{"code":200}}
{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/default/configmaps","verb":"create","responseStatus":{"code":201}}
)yaml");
  const Report report = Run();
  ASSERT_THAT(report.results, SizeIs(4));
  EXPECT_EQ(report.results[0].verdict, Verdict::kPass);
  EXPECT_EQ(report.results[1].verdict, Verdict::kPass) << report.results[1].message;
  EXPECT_EQ(report.results[2].message, "requests about objects that were created before");
  EXPECT_EQ(report.results[3].message, "events of level Metadata have no object");
}

TEST_F(FormatsTest, UpdatesOfAuditLogsFindTheirObjects) {
  const std::string update =
      R"({"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Request","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/team/configmaps/a","verb":"update","user":{"username":"a"},"responseStatus":{"code":%},"requestObject":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"team","uid":"x","resourceVersion":"77"},"data":{"a":"b"}}})";
  Write("audit.json", base::ReplaceAll(update, "%", "200") + "\n");
  ExpectAllPass(Run(), 1);
  Write("audit.json", base::ReplaceAll(update, "%", "404") + "\n");
  ExpectAllPass(Run(), 1);
}

// A cluster makes the service account "default" of each namespace; a log has that request, too.
TEST_F(FormatsTest, ObjectsThatTheClusterMakesGiveWayToThoseOfAuditLogs) {
  const auto event = [](std::string_view path, std::string_view kind, std::string_view name,
                        std::string_view code) {
    return base::StrCat(
        R"({"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Request","stage":"ResponseComplete","requestURI":"/api/v1/)",
        path, R"(","verb":"create","user":{"username":"a"},"responseStatus":{"code":)", code,
        R"(},"requestObject":{"kind":")", kind, R"(","apiVersion":"v1","metadata":{"name":")", name,
        "\"}}}\n");
  };
  Write("audit.json",
        base::StrCat(event("namespaces", "Namespace", "team", "201"),
                     event("namespaces/team/serviceaccounts", "ServiceAccount", "default", "201"),
                     event("namespaces/team/serviceaccounts", "ServiceAccount", "default", "409")));
  ExpectAllPass(Run(), 3);
}

TEST_F(FormatsTest, ReadsPoliciesOfOldVersionsAndSaysSo) {
  std::string old = kSuitePolicy;
  old.replace(old.find("/v1"), 3, "/v1beta1");
  Write("policy.yaml", old);
  Write("maps.yaml", kMaps);
  Write(
      "kaptest.yaml",
      "validatingAdmissionPolicies: [policy.yaml]\nresources: [maps.yaml]\ntestSuites:\n"
      "- {policy: needs-owner, tests: [{object: {kind: ConfigMap, name: lost}, expect: deny}]}\n");
  const Report report = Run();
  ExpectAllPass(report, 1);
  ASSERT_THAT(report.notes, SizeIs(2));
  EXPECT_THAT(report.notes[0], HasSubstr("is written in admissionregistration.k8s.io/v1beta1"));
}

TEST_F(FormatsTest, EveryFormatHasANameAndASummary) {
  for (const SuiteFormat& format : SuiteFormats()) {
    EXPECT_FALSE(format.name.empty());
    EXPECT_FALSE(format.summary.empty());
  }
  EXPECT_THAT(ReadSuites({}).suites, IsEmpty());
}

}  // namespace
}  // namespace portcullis::offline
