// SPDX-License-Identifier: Apache-2.0

// Policies as a cluster has them: their types are checked, their parameters are guarded, earlier
// versions are served on request, files hold some that cannot be changed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/fiber.h"
#include "base/strings.h"
#include "base/testing/temporary_folder.h"
#include "harness/test_server.h"
#include "json/writer.h"

namespace portcullis {
namespace {

using testing::Answer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TestServer;

const std::string kGroup = "/apis/admissionregistration.k8s.io/";

std::string Policy(std::string_view name, std::string_view rule, std::string_view more) {
  return base::StrCat(R"({"metadata":{"name":")", name,
                      R"("},"spec":{"matchConstraints":{"resourceRules":[)", rule, "]},", more,
                      "}}");
}
constexpr std::string_view kDeployments =
    R"({"apiGroups":["apps"],"apiVersions":["v1"],"operations":["*"],"resources":["deployments"]})";
constexpr std::string_view kFoos =
    R"({"apiGroups":["x.io"],"apiVersions":["v1"],"operations":["*"],"resources":["foos"]})";
constexpr std::string_view kFooDefinition =
    R"({"metadata":{"name":"foos.x.io"},"spec":{"group":"x.io","scope":"Cluster","names":)"
    R"({"kind":"Foo","plural":"foos"},"versions":[{"name":"v1","served":true,"storage":true,)"
    R"("schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"string"}}}}}]}})";

void WithController(server::Options& options) {
  options.controllers = {"validatingadmissionpolicy-status-controller"};
}

// Each of a hundred errors quotes the whole line: two lines of 10 KB have more of them than etcd takes.
TEST(Policies, AreInForceWithFindingsThatCannotBeStored) {
  TestServer server(&WithController);
  std::string expression = "object.metadata.name == 'a'";
  for (int i = 0; i < 400; ++i) {
    expression += base::StrCat(" || object.spec.x", std::to_string(i), " == 1");
  }
  const std::string validations =
      base::StrCat(R"("validations":[{"expression":")", expression, R"("},{"expression":")",
                   expression, R"( || true"}])");
  const Answer made = server.Post(kGroup + "v1/validatingadmissionpolicies",
                                  Policy("p", kDeployments, validations));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_FALSE(made["status"].Has("typeChecking"));
}

TEST(Policies, TypesAreCheckedBeforeTheWriteReturns) {
  TestServer server(&WithController);
  const std::string policies = kGroup + "v1/validatingadmissionpolicies";

  const Answer made = server.Post(
      policies,
      Policy("p", kDeployments, R"("validations":[{"expression":"object.spec.replica > 1"}])"));

  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made["status"]["observedGeneration"].AsInt(), 1);
  EXPECT_EQ(made["status"]["typeChecking"]["expressionWarnings"][0]["warning"].AsString(),
            "apps/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'replica'\n"
            " | object.spec.replica > 1\n"
            " | ...........^\n");

  const Answer changed =
      server.Patch(policies + "/p", "application/merge-patch+json",
                   R"({"spec":{"validations":[{"expression":"object.spec.replicas > 1"}]}})");
  EXPECT_EQ(json::ToString(changed["status"]), R"({"observedGeneration":2,"typeChecking":{}})");
  const Answer again = server.Patch(policies + "/p", "application/merge-patch+json",
                                    R"({"spec":{"failurePolicy":"Ignore"}})");
  EXPECT_EQ(json::ToString(again["status"]), R"({"observedGeneration":3,"typeChecking":{}})");
}

TEST(Policies, TheStatusIsOwnedByWhoCheckedTheTypes) {
  TestServer server(&WithController);
  const std::string policies = kGroup + "v1/validatingadmissionpolicies";
  const auto owned = [](const Answer& answer) {
    std::string out;
    for (const json::Value& entry : answer["metadata"]["managedFields"].elements()) {
      if (entry["subresource"].AsString() != "status") continue;
      out += base::StrCat(entry["manager"].AsString(), " ", entry["operation"].AsString(), " ",
                          json::ToString(entry["fieldsV1"]));
    }
    return out;
  };

  const Answer made = server.Post(
      policies,
      Policy("p", kDeployments, R"("validations":[{"expression":"object.spec.replica > 1"}])"));
  EXPECT_EQ(owned(made),
            R"(validatingadmissionpolicy-status Apply {"f:status":{"f:observedGeneration":{},)"
            R"("f:typeChecking":{"f:expressionWarnings":{}}}})");

  const Answer changed =
      server.Patch(policies + "/p", "application/merge-patch+json",
                   R"({"spec":{"validations":[{"expression":"object.spec.replicas > 1"}]}})");
  EXPECT_EQ(owned(changed),
            R"(validatingadmissionpolicy-status Apply {"f:status":{"f:observedGeneration":{},)"
            R"("f:typeChecking":{}}})");
}

TEST(Policies, TypesAreCheckedAgainWhenTheirDefinitionComes) {
  TestServer server(&WithController);
  const std::string policy = kGroup + "v1/validatingadmissionpolicies/p";
  server.Post(kGroup + "v1/validatingadmissionpolicies",
              Policy("p", kFoos, R"("validations":[{"expression":"object.b == 1"}])"));

  ASSERT_EQ(
      server.Post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", kFooDefinition).status,
      201);

  // The controller has a thread of its own.
  std::string warning;
  for (int i = 0; i < 500 && warning.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const Answer now = server.Get(policy);
    warning = now["status"]["typeChecking"]["expressionWarnings"][0]["warning"].AsString();
  }
  EXPECT_THAT(warning, HasSubstr("x.io/v1, Kind=Foo: ERROR: <input>:1:7: undefined field 'b'"));
}

TEST(Policies, WithoutTheControllerTheStatusStaysEmpty) {
  TestServer server([](server::Options& options) { options.controllers = {"-*"}; });

  const Answer made = server.Post(
      kGroup + "v1/validatingadmissionpolicies",
      Policy("p", kDeployments, R"("validations":[{"expression":"object.nope == 1"}])"));

  EXPECT_EQ(json::ToString(made["status"]), "{}");
}

TEST(Policies, WritersMustBeAbleToReadParameters) {
  TestServer server([](server::Options& options) { options.authorization_modes = {"RBAC"}; });
  server.Post("/apis/rbac.authorization.k8s.io/v1/clusterroles",
              R"({"metadata":{"name":"r"},"rules":[{"apiGroups":["admissionregistration.k8s.io"],)"
              R"("resources":["*"],"verbs":["*"]}]})");
  server.Post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
              R"({"metadata":{"name":"r"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io",)"
              R"("kind":"ClusterRole","name":"r"},"subjects":[{"kind":"User","name":"alice",)"
              R"("apiGroup":"rbac.authorization.k8s.io"}]})");

  const Answer refused =
      server.Call("POST", kGroup + "v1/validatingadmissionpolicies",
                  Policy("p", kDeployments,
                         R"("paramKind":{"apiVersion":"v1","kind":"ConfigMap"},)"
                         R"("validations":[{"expression":"true"}])"),
                  {{"Content-Type", "application/json"}, {"Impersonate-User", "alice"}});

  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.message(),
              HasSubstr("spec.paramKind: Forbidden: user &{alice  [system:authenticated] map[]} "
                        "must have \"get\" permission on all objects of the referenced paramKind "
                        "(kind=ConfigMap, apiVersion=v1)"));
}

TEST(Policies, EarlierVersionsAreServedOnRequest) {
  TestServer server([](server::Options& options) {
    options.runtime_config["admissionregistration.k8s.io/v1beta1"] = "true";
  });

  const Answer made =
      server.Post(kGroup + "v1beta1/validatingadmissionpolicies",
                  Policy("p", kDeployments, R"("validations":[{"expression":"true"}])"));

  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made["apiVersion"].AsString(), "admissionregistration.k8s.io/v1beta1");
  EXPECT_EQ(server.Get(kGroup + "v1/validatingadmissionpolicies/p")["apiVersion"].AsString(),
            "admissionregistration.k8s.io/v1");
  EXPECT_EQ(server.Get(kGroup + "v1alpha1/validatingadmissionpolicies").status, 404);
}

// docs/legacy.md: one object, read and written in every version that is served.
TEST(Policies, OneObjectIsServedInAllVersions) {
  TestServer server([](server::Options& options) {
    options.runtime_config["admissionregistration.k8s.io/v1beta1"] = "true";
    options.runtime_config["admissionregistration.k8s.io/v1alpha1"] = "true";
  });
  const Answer made =
      server.Post(kGroup + "v1alpha1/validatingadmissionpolicies",
                  Policy("p", kDeployments, R"("validations":[{"expression":"true"}])"));
  ASSERT_EQ(made.status, 201) << made.body;
  for (const char* version : {"v1alpha1", "v1beta1", "v1"}) {
    const std::string path = kGroup + version + "/validatingadmissionpolicies/p";
    const Answer changed =
        server.Patch(path, "application/merge-patch+json",
                     base::StrCat(R"({"metadata":{"labels":{")", version, R"(":"seen"}}})"));
    EXPECT_EQ(changed.status, 200) << changed.body;
    EXPECT_EQ(changed["apiVersion"].AsString(),
              base::StrCat("admissionregistration.k8s.io/", version));
  }
  EXPECT_EQ(server.Get(kGroup + "v1/validatingadmissionpolicies/p")["metadata"]["labels"].size(),
            3U);
}

// Makes a server have the validating policies of a file of this content in `place`.
std::function<void(server::Options&)> WithPoliciesOf(const base::TemporaryFolder& place,
                                                     std::string_view content) {
  const std::filesystem::path folder = place.path();
  std::filesystem::create_directories(folder / "manifests");
  std::ofstream(folder / "manifests" / "a.yaml") << content;
  std::ofstream(folder / "admission.yaml") << R"(
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: ValidatingAdmissionPolicy
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: ValidatingAdmissionPolicyConfiguration
    staticManifestsDir: )" << (folder / "manifests").string()
                                           << "\n";
  return [folder](server::Options& options) {
    options.admission_control_config_file = (folder / "admission.yaml").string();
    options.feature_gates["ManifestBasedAdmissionControlConfig"] = true;
  };
}

TEST(Policies, ThoseOfFilesGuardThePoliciesOfTheApi) {
  const base::TemporaryFolder folder;
  TestServer server(WithPoliciesOf(folder, R"(
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: guard.static.k8s.io}
spec:
  matchConstraints:
    resourceRules:
    - apiGroups: [admissionregistration.k8s.io]
      apiVersions: ["*"]
      operations: [CREATE]
      resources: [validatingadmissionpolicies]
  validations: [{expression: "object.metadata.name != 'p'", reason: Forbidden}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: guard.static.k8s.io}
spec: {policyName: guard.static.k8s.io, validationActions: [Deny]}
)"));
  const std::string policies = kGroup + "v1/validatingadmissionpolicies";
  const std::string_view spec = R"("validations":[{"expression":"true"}])";

  EXPECT_EQ(server.Post(policies, Policy("p", kDeployments, spec)).status, 403);
  EXPECT_EQ(server.Post(policies, Policy("q", kDeployments, spec)).status, 201);
  EXPECT_THAT(server.Post(policies, Policy("q.static.k8s.io", kDeployments, spec)).message(),
              HasSubstr("are reserved for static manifest-based configurations"));
  EXPECT_EQ(server.Get(policies + "/guard.static.k8s.io").status, 404);
}

// Of this process.
int WorkerThreads() {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name == "worker") ++count;
  }
  return count;
}

std::string MapOf(std::string_view name, int keys) {
  std::string data;
  for (int i = 0; i < keys; ++i) {
    data += base::StrCat(i == 0 ? "" : ",", "\"k", std::to_string(i), "\":\"v\"");
  }
  return base::StrCat(R"({"metadata":{"name":")", name, R"("},"data":{)", data, "}}");
}

// A clock that the steps of policies do not move.
class StoppedClock final : public base::Clock {
 public:
  base::WallTime Now() const override { return base::SystemClock().Now(); }
  base::SteadyTime Steady() const override { return start_; }

 private:
  const base::SteadyTime start_ = base::SystemClock().Steady();
};

// What is cheap for small objects and costly for large ones needs another thread for these only; each is
// judged, and counted, once.
TEST(Policies, TakeAThreadOfTheirOwnWhereTheyTakeLong) {
  if (!base::Fiber::kSupported) GTEST_SKIP() << "no fibers on this processor";
  const StoppedClock clock;
  const base::TemporaryFolder folder;
  TestServer server(WithPoliciesOf(folder, R"yaml(
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: pairs.static.k8s.io}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  validations:
  - expression: "object.data.all(a, object.data.all(b, a + b != '')) && object.data.size() < 2"
    messageExpression: "'has ' + string(object.data.size())"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: pairs.static.k8s.io}
spec: {policyName: pairs.static.k8s.io, validationActions: [Warn, Audit]}
)yaml"),
                    clock);
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(
        server.Post(maps, MapOf(base::StrCat("one-", std::to_string(i)), 1)).warnings().size(), 0U);
    EXPECT_THAT(server.Post(maps, MapOf(base::StrCat("two-", std::to_string(i)), 2)).warnings(),
                ElementsAre(HasSubstr("has 2")));
  }
  EXPECT_EQ(WorkerThreads(), 0);
  const Answer large = server.Post(maps, MapOf("large", 150));
  EXPECT_EQ(large.status, 201);
  EXPECT_THAT(large.warnings(), ElementsAre(HasSubstr("has 150")));
  EXPECT_GT(WorkerThreads(), 0);
  EXPECT_THAT(server.Post(maps, MapOf("last", 2)).warnings(), ElementsAre(HasSubstr("has 2")));

  const std::string metrics = server.Get("/metrics").body;
  const auto value_of = [&](const std::string& series) {
    const auto at = metrics.find("\n" + series + " ");
    if (at == std::string::npos) return std::string("no such series");
    const std::size_t begin = at + series.size() + 2;
    return metrics.substr(begin, metrics.find('\n', begin) - begin);
  };
  EXPECT_EQ(value_of(R"(apiserver_validating_admission_policy_check_total{)"
                     R"(enforcement_action="warn",error_type="invalid_error",)"
                     R"(policy="pairs.static.k8s.io",policy_binding="pairs.static.k8s.io"})"),
            "5");
  const auto creates_seen_by = [&](std::string_view plugin) {
    return value_of(base::StrCat("apiserver_admission_controller_admission_duration_seconds_count{",
                                 "name=\"", plugin,
                                 R"(",operation="CREATE",rejected="false",type="validate"})"));
  };
  EXPECT_EQ(creates_seen_by("ValidatingAdmissionPolicy"),
            creates_seen_by("ValidatingAdmissionWebhook"));
}

}  // namespace
}  // namespace portcullis
