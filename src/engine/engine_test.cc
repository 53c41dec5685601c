// SPDX-License-Identifier: Apache-2.0

// The engine without a server: its scenarios (testdata/), and what it is made of.

#include "engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/strings.h"
#include "engine/boot/boot_objects.h"
#include "engine/codec/codec.h"
#include "engine/subresources/subresources.h"
#include "engine/testing/scenario.h"
#include "engine/verbs.h"
#include "engine/write/cluster_writer.h"
#include "json/reader.h"
#include "json/writer.h"
#include "registry/services/service_network.h"
#include "store/memory/memory_store.h"
#include "store/store.h"

namespace portcullis::engine {
namespace {

using admission::Waits;

std::vector<std::string> ScenarioNames() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(PC_SOURCE_DIR "/src/engine/testdata")) {
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class EngineScenario : public ::testing::TestWithParam<std::string> {};

TEST_P(EngineScenario, HasTheExpectedOutcome) {
  const std::string path = PC_SOURCE_DIR "/src/engine/testdata/" + GetParam() + ".yaml";
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const testing::ScenarioResult result = testing::RunScenario(text);
  EXPECT_FALSE(result.description.empty());
  for (const std::string& failure : result.failures) ADD_FAILURE() << failure;
}

INSTANTIATE_TEST_SUITE_P(Testdata, EngineScenario, ::testing::ValuesIn(ScenarioNames()),
                         [](const auto& scenario) { return scenario.param; });

TEST(Engine, RefusesReleasesThatItDoesNotKnow) {
  EngineOptions options;
  options.kubernetes_version = "1.99";
  const auto engine = Engine::Create(std::move(options));
  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(engine.status().message(), "invalid Kubernetes version \"1.99\": must be 1.7 to 1.36");
}

TEST(Engine, RefusesResourcesThatAreNotServed) {
  const auto engine = Engine::Create({});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  Operation op((*engine)->world());
  const base::Status status = Resolve(op, {.version = "v1", .resource = "gadgets"});
  EXPECT_EQ(status.message(), "the server could not find the requested resource");
}

// Discovery of kube-apiserver with api/all=true has none of these without their gates.
TEST(Engine, ServesResourcesOfGatesThatAreOn) {
  const auto served = [](release::GateSettings gates) {
    EngineOptions options;
    options.runtime_config["api/all"] = true;
    options.feature_gates = std::move(gates);
    const auto engine = Engine::Create(std::move(options));
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    const auto catalog = (*engine)->world().catalog->Get();
    return catalog->Find("certificates.k8s.io", "v1beta1", "clustertrustbundles") != nullptr;
  };
  EXPECT_FALSE(served({}));
  EXPECT_TRUE(served({{"ClusterTrustBundle", true}}));
}

// As the managedFields of kube-apiserver's: addresses and families are given by the server.
TEST(Engine, MakesTheServiceKubernetesAsAClientWould) {
  const auto engine = Engine::Create({});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  const World& world = (*engine)->world();
  ASSERT_TRUE(MakeBootObjects(world, {.writers = 1, .server_port = 7443}).ok());
  const auto stored = world.store->Get({"", "services", "default", "kubernetes"});
  ASSERT_NE(stored, nullptr);
  json::Arena arena;
  const json::Value service = *json::Parse(arena, stored->bytes());
  const json::Value fields = service["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"];
  EXPECT_TRUE(fields.Has("f:clusterIP"));
  EXPECT_FALSE(fields.Has("f:clusterIPs"));
  EXPECT_FALSE(fields.Has("f:ipFamilies"));
  EXPECT_EQ(service["spec"]["clusterIPs"].size(), 1U);
  EXPECT_EQ(service["spec"]["ports"][0]["targetPort"].AsInt(), 7443);
}

// Roles and bindings that an earlier release has left are where those that have come of them begin.
TEST(Engine, SplitRolesAndBindingsBeginAsWhatTheyWere) {
  const auto engine = Engine::Create({});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  const World& world = (*engine)->world();
  json::Arena arena;
  constexpr std::string_view kLeft[] = {
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding",
          "metadata":{"name":"system:discovery","labels":{"a":"b"}},
          "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole",
                     "name":"system:discovery"},
          "subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"joe"}]})",
      R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole",
          "metadata":{"name":"edit","annotations":{"c":"d"}},
          "rules":[{"apiGroups":["a.example"],"resources":["things"],"verbs":["get"]}]})"};
  for (const std::string_view text : kLeft) {
    ASSERT_TRUE(EnsureObject(world, *json::Parse(arena, text)).ok());
  }
  ASSERT_TRUE(MakeBootObjects(world, {.writers = 2}).ok());
  const auto stored = [&](std::string_view resource, std::string_view name) {
    const auto object = world.store->Get({"rbac.authorization.k8s.io", resource, "", name});
    return object ? *json::Parse(arena, arena.Copy(object->bytes())) : json::Value();
  };
  const json::Value binding = stored("clusterrolebindings", "system:public-info-viewer");
  EXPECT_EQ(json::ToString(binding["metadata"]["labels"]),
            R"({"a":"b","kubernetes.io/bootstrapping":"rbac-defaults"})");
  ASSERT_EQ(binding["subjects"].size(), 3U);
  EXPECT_EQ(binding["subjects"][0]["name"].AsString(), "joe");
  EXPECT_EQ(binding["roleRef"]["name"].AsString(), "system:public-info-viewer");
  const json::Value role = stored("clusterroles", "system:aggregate-to-edit");
  EXPECT_EQ(role["metadata"]["annotations"]["c"].AsString(), "d");
  EXPECT_EQ(role["rules"][0]["apiGroups"][0].AsString(), "a.example");
  EXPECT_GT(role["rules"].size(), 1U);
  EXPECT_TRUE(stored("clusterroles", "edit").Has("aggregationRule"));
  EXPECT_FALSE(stored("clusterroles", "system:aggregate-to-view")["rules"][0]["apiGroups"][0] ==
               json::Value::StringView("a.example"));
}

// The role of a binding cannot change: one of another role is another object afterwards.
TEST(Engine, ABindingOfAnotherRoleIsMadeAnew) {
  const auto engine = Engine::Create({});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  const World& world = (*engine)->world();
  json::Arena arena;
  struct Case {
    std::string_view name, annotations;
    bool is_protected;
  };
  constexpr Case kCases[] = {{"system:node-proxier", "{}", false},
                             {"system:volume-scheduler",
                              R"({"rbac.authorization.kubernetes.io/autoupdate":"false"})", true}};
  for (const Case& each : kCases) {
    const std::string text = base::StrCat(
        R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{)"
        R"("name":")",
        each.name, R"(","annotations":)", each.annotations, R"(,"labels":{"a":"b"}},)",
        R"("roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"}})");
    ASSERT_TRUE(EnsureObject(world, *json::Parse(arena, text)).ok());
  }
  ASSERT_TRUE(MakeBootObjects(world, {.writers = 1}).ok());
  for (const auto& [name, annotations, is_protected] : kCases) {
    const auto stored =
        world.store->Get({"rbac.authorization.k8s.io", "clusterrolebindings", "", name});
    EXPECT_EQ(stored->document()["roleRef"]["name"].AsString(), is_protected ? "view" : name);
    EXPECT_EQ(stored->document()["metadata"]["labels"].Has("a"), is_protected);
    EXPECT_EQ(stored->document()["subjects"].size(), is_protected ? 0U : 1U);
  }
}

// The ServiceCIDR of a cluster gets the second family of a server that has both. Other networks of a server
// leave it as it is.
TEST(Engine, TheServiceCidrGetsASecondFamily) {
  const auto store = store::OpenMemory();
  const auto after_start_with = [&](std::string_view ranges) {
    EngineOptions options;
    options.store = store.get();
    options.services = registry::ServiceNetwork::Create(ranges, "30000-32767").value();
    const auto engine = Engine::Create(std::move(options));
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    EXPECT_TRUE(MakeBootObjects((*engine)->world(), {.writers = 1}).ok());
    const auto stored = store->Get({"networking.k8s.io", "servicecidrs", "", "kubernetes"});
    EXPECT_EQ(stored->document()["status"]["conditions"].size(), 1U);
    return json::ToString(stored->document()["spec"]["cidrs"]);
  };
  EXPECT_EQ(after_start_with("10.0.0.0/24"), R"(["10.0.0.0/24"])");
  EXPECT_EQ(after_start_with("10.1.0.0/24,fd00:1::/112"), R"(["10.0.0.0/24"])");
  EXPECT_EQ(after_start_with("10.0.0.0/24,fd00:1::/112"), R"(["10.0.0.0/24","fd00:1::/112"])");
  EXPECT_EQ(after_start_with("10.0.0.0/24"), R"(["10.0.0.0/24","fd00:1::/112"])");
}

std::size_t Entries(const char* folder) {
  const std::filesystem::directory_iterator entries(folder);
  return static_cast<std::size_t>(std::distance(entries, std::filesystem::directory_iterator()));
}

TEST(Engine, OpensWithoutThreadsFilesAndPorts) {
  const std::size_t threads = Entries("/proc/self/task");
  const std::size_t descriptors = Entries("/proc/self/fd");
  const auto engine = Engine::Create({});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  EXPECT_EQ(Entries("/proc/self/task"), threads);
  EXPECT_EQ(Entries("/proc/self/fd"), descriptors);
}

class MovedClock final : public base::Clock {
 public:
  base::WallTime Now() const override { return now; }
  base::SteadyTime Steady() const override { return base::SteadyTime::clock::now(); }

  base::WallTime now = base::WallTime::clock::now();
};

// An engine with the namespace "team", and operations on ConfigMaps in it.
class Executions : public ::testing::Test {
 protected:
  void SetUp() override {
    EngineOptions options;
    options.clock = &clock_;
    auto engine = Engine::Create(std::move(options));
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    engine_ = *std::move(engine);
    Make("namespaces", R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team"}})");
  }

  std::unique_ptr<Operation> On(std::string_view resource, Verb verb, std::string_view name = "") {
    auto op = std::make_unique<Operation>(engine_->world());
    const std::string_view group = resource.starts_with("validating")
                                       ? "admissionregistration.k8s.io"
                                   : resource == "controllerrevisions" ? "apps"
                                                                       : "";
    const bool namespaced = resource != "namespaces" && !resource.starts_with("validating");
    const ResourcePath path{group, "v1", resource, "", namespaced ? "team" : "", name};
    EXPECT_TRUE(Resolve(*op, path).ok()) << resource;
    op->verb = verb;
    op->user.name = "admin";
    return op;
  }

  void Make(std::string_view resource, std::string_view body) {
    const auto op = On(resource, Verb::kCreate);
    Input input;
    input.body = body;
    const auto made = Write(*op, input);
    EXPECT_TRUE(made.ok()) << made.status().message();
  }

  MovedClock clock_;
  std::unique_ptr<Engine> engine_;
};

constexpr std::string_view kConfigMap =
    R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}})";

// A create of a ConfigMap is refused where nothing may wait, and succeeds where something may.
void ExpectRefusesToWait(Operation& op) {
  Input input;
  input.body = kConfigMap;
  EXPECT_FALSE(Write(op, input).ok());
  EXPECT_TRUE(op.recorder.refused_to_wait());
  op.recorder.Clear();
  EXPECT_TRUE(Write(op, input).ok());
}

TEST_F(Executions, StopAtTheCommit) {
  const auto op = On("configmaps", Verb::kCreate);
  Input input;
  input.body = kConfigMap;
  const auto execution = BeginWrite(*op, input);
  auto write = execution->Advance();
  ASSERT_TRUE(write.has_value());
  EXPECT_EQ(write->kind, PendingWrite::Kind::kCreate);
  EXPECT_EQ(write->name, "a");
  EXPECT_EQ(engine_->world().store->Get({"", "configmaps", "team", "a"}), nullptr);
  execution->Committed(Commit(*op, *std::move(write)));
  EXPECT_FALSE(execution->Advance().has_value());
  const auto outcome = execution->TakeOutcome();
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  EXPECT_TRUE(outcome->created);
  EXPECT_NE(outcome->stored, nullptr);
}

// What another version has stored may have fields that this one does not know.
TEST_F(Executions, PatchesDropUnknownFieldsOfWhatIsStored) {
  json::Arena arena;
  const json::Value stored = *json::Parse(arena, R"({"kind":"PodTemplate","apiVersion":"v1",
      "metadata":{"name":"a","namespace":"team","resourceVersion":"","uid":"u",
                  "creationTimestamp":"2026-11-01T00:00:00Z"},
      "template":{"metadata":{},"spec":{"containers":[{"name":"c","image":"i","later":{"x":1}}]}}})");
  const store::Key key{"", "podtemplates", "team", "a"};
  ASSERT_TRUE(engine_->world().store->Create(key, EncodeAsIs(arena, stored, false)).ok());
  const auto patch = [&](PatchType type, std::string_view body) {
    const auto op = On("podtemplates", Verb::kPatch, "a");
    Input input;
    input.body = body;
    input.patch = type;
    op->dry_run = true;
    const auto outcome = Write(*op, input);
    EXPECT_TRUE(outcome.ok()) << outcome.status().message();
    if (!outcome.ok()) return std::string();
    return json::ToString(outcome->object["template"]["spec"]["containers"][std::size_t{0}]);
  };
  const auto is_known = ::testing::Not(::testing::HasSubstr("later"));
  EXPECT_THAT(patch(PatchType::kMerge, R"({"metadata":{"labels":{"l":"x"}}})"), is_known);
  EXPECT_THAT(
      patch(PatchType::kJson, R"([{"op":"add","path":"/metadata/labels","value":{"l":"x"}}])"),
      is_known);
  EXPECT_THAT(patch(PatchType::kStrategic, R"({"metadata":{"labels":{"l":"x"}}})"), is_known);
}

TEST_F(Executions, GoOnAfterAConflict) {
  Make("configmaps", kConfigMap);
  const auto op = On("configmaps", Verb::kPatch, "a");
  Input input;
  input.body = R"({"data":{"k":"v"}})";
  const auto execution = BeginWrite(*op, input);
  auto first = execution->Advance();
  ASSERT_TRUE(first.has_value());

  const auto other = On("configmaps", Verb::kPatch, "a");
  Input faster;
  faster.body = R"({"data":{"other":"w"}})";
  ASSERT_TRUE(Write(*other, faster).ok());

  const std::int64_t expected = first->expected;
  execution->Committed(Commit(*op, *std::move(first)));
  auto second = execution->Advance();
  ASSERT_TRUE(second.has_value());
  EXPECT_GT(second->expected, expected);
  execution->Committed(Commit(*op, *std::move(second)));
  EXPECT_FALSE(execution->Advance().has_value());
  const auto outcome = execution->TakeOutcome();
  ASSERT_TRUE(outcome.ok()) << outcome.status().message();
  const json::Value data = outcome->stored->document()["data"];
  EXPECT_EQ(data["k"].AsString(), "v");
  EXPECT_EQ(data["other"].AsString(), "w");
}

TEST_F(Executions, ChooseAnotherNameIfAGeneratedOneIsTaken) {
  const auto op = On("configmaps", Verb::kCreate);
  Input input;
  input.body = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"a-"}})";
  const auto execution = BeginWrite(*op, input);
  const auto first = execution->Advance();
  ASSERT_TRUE(first.has_value());
  execution->Committed(base::Status(base::Reason::kAlreadyExists, "taken"));
  const auto second = execution->Advance();
  ASSERT_TRUE(second.has_value());
  EXPECT_TRUE(second->name.starts_with("a-"));
  EXPECT_NE(second->name, first->name);
}

TEST_F(Executions, CallBackWhenDone) {
  const auto op = On("configmaps", Verb::kCreate);
  Input input;
  input.body = kConfigMap;
  std::promise<std::function<void()>> next;
  int calls = 0;
  Finish(
      *op, BeginWrite(*op, input),
      [&](std::function<void()> step) { next.set_value(std::move(step)); },
      [&](const base::Result<Outcome>& outcome) {
        ++calls;
        EXPECT_TRUE(outcome.ok());
      });
  const std::function<void()> step = next.get_future().get();
  EXPECT_EQ(calls, 0);
  EXPECT_NE(engine_->world().store->Get({"", "configmaps", "team", "a"}), nullptr);
  step();
  EXPECT_EQ(calls, 1);
}

TEST_F(Executions, CallBackAtOnceIfThereIsNothingToWrite) {
  const auto op = On("configmaps", Verb::kCreate);
  op->dry_run = true;
  Input input;
  input.body = kConfigMap;
  int calls = 0;
  Finish(
      *op, BeginWrite(*op, input), [](const std::function<void()>&) { FAIL(); },
      [&](const base::Result<Outcome>&) { ++calls; });
  EXPECT_EQ(calls, 1);
}

// kube-apiserver stores a new claim without the phase that reads show; an update that changes nothing is
// encoded with it, hence written.
TEST_F(Executions, WriteAnewWhatWasStoredWithoutDefaults) {
  Make("configmaps", kConfigMap);
  Make("persistentvolumeclaims", R"({
      "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "a"},
      "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}})");
  const auto patched = [&](std::string_view resource) {
    const auto op = On(resource, Verb::kPatch, "a");
    Input input;
    input.body = "{}";
    const auto outcome = Write(*op, input);
    EXPECT_TRUE(outcome.ok()) << outcome.status().message();
    return outcome->stored->revision();
  };
  EXPECT_LT(patched("configmaps"), engine_->world().store->revision());
  const std::int64_t created = engine_->world().store->revision();
  const std::int64_t first = patched("persistentvolumeclaims");
  EXPECT_GT(first, created);
  EXPECT_EQ(patched("persistentvolumeclaims"), first);
}

// A refusal quotes the members that a merge patch has looked into.
TEST_F(Executions, PatchesOfManyMembersTakeMemoryByTheirSize) {
  const auto revision = [](std::string_view value) {
    std::string data;
    for (int i = 0; i < 3000; ++i) {
      data += base::StrCat(i > 0 ? "," : "", "\"k", std::to_string(i), "\":", value);
    }
    return base::StrCat(
        R"({"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"a"},)",
        R"("revision":1,"data":{)", data, "}}");
  };
  Make("controllerrevisions", revision("{}"));
  const auto op = On("controllerrevisions", Verb::kPatch, "a");
  Input input;
  const std::string body = revision("[]");
  input.body = body;
  input.patch = PatchType::kMerge;
  EXPECT_FALSE(Write(*op, input).ok()) << "the data of a revision stays";
  EXPECT_LT(op->arena.bytes_used(), std::size_t{32} << 20);
}

// Go takes no bytes for empty ones where it compares objects, and not where it compares what it has encoded.
TEST_F(Executions, WriteAnewWhatHasNullsForBytesAndKeepItsTimes) {
  const auto put = [&](std::string_view value) {
    const auto op = On("secrets", Verb::kUpdate, "a");
    const std::string body = base::StrCat(
        R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":{"k":)", value, "}}");
    Input input;
    input.body = body;
    input.options.field_manager = "m";
    const auto outcome = Write(*op, input);
    EXPECT_TRUE(outcome.ok()) << outcome.status().message();
    return outcome->stored;
  };
  Make("secrets", R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":{"k":""}})");
  const auto first = put("null");
  clock_.now += std::chrono::hours(1);
  const auto again = put("null");
  EXPECT_GT(again->revision(), first->revision());
  const auto managers = [](const store::ObjectPtr& object) {
    const std::string_view bytes = object->bytes();
    return bytes.substr(bytes.find("managedFields"));
  };
  EXPECT_EQ(managers(again), managers(first)) << "the times of managers stay";
}

// kube-apiserver asks for the version of an empty object there.
TEST_F(Executions, DeleteNothingByVersionWhoseLastFinalizerGoes) {
  Make("configmaps",
       R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","finalizers":["orphan"]}})");
  const auto stored = engine_->world().store->Get({"", "configmaps", "team", "a"});
  ASSERT_NE(stored, nullptr);
  const std::string version = std::to_string(stored->revision());
  const auto op = On("configmaps", Verb::kDelete, "a");
  DeleteOptions options;
  options.propagation_policy = "Background";
  options.resource_version = version;

  const auto deleted = Delete(*op, options);

  ASSERT_FALSE(deleted.ok());
  EXPECT_EQ(deleted.status().message(),
            "Operation cannot be fulfilled on configmaps \"a\": StorageError: invalid object, "
            "Code: 4, Key: /registry/configmaps/team/a, ResourceVersion: 0, AdditionalErrorMsg: "
            "Precondition failed: ResourceVersion in precondition: , ResourceVersion in object "
            "meta: " +
                version);
}

TEST_F(Executions, PointersOfAPatchMayBeLongerThanTheObjectIsDeep) {
  Make("configmaps", kConfigMap);
  std::string far;
  for (int i = 0; i < 1'000'000; ++i) far += "/a";
  const std::string patch =
      base::StrCat(R"([{"op":"add","path":"/data","value":7,"from":")", far, R"("}])");
  const auto op = On("configmaps", Verb::kPatch, "a");
  Input input;
  input.body = patch;
  input.patch = PatchType::kJson;
  const auto patched = Write(*op, input);
  ASSERT_FALSE(patched.ok());
  EXPECT_THAT(patched.status().message(), ::testing::HasSubstr("Go struct field ConfigMap.data"));
}

TEST_F(Executions, RefuseToWaitWhereNothingMay) {
  const auto op = On("configmaps", Verb::kCreate);
  op->recorder.ForbidWaiting();
  Make("resourcequotas", R"({"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q"},
                             "spec":{"hard":{"count/configmaps":"1"}}})");
  ExpectRefusesToWait(*op);
}

TEST_F(Executions, MayWaitForAQuotaOfTheNamespace) {
  EXPECT_EQ(WaitsOf(*On("configmaps", Verb::kCreate)), Waits::kForNothing);
  Make("resourcequotas", R"({"apiVersion":"v1","kind":"ResourceQuota","metadata":{"name":"q"}})");
  EXPECT_EQ(WaitsOf(*On("configmaps", Verb::kCreate)), Waits::kOnThread);
}

constexpr std::string_view kPolicy = R"({
    "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
    "metadata": {"name": "p"},
    "spec": {"matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"],
               "operations": ["CREATE"], "resources": ["configmaps"]}]},
             "validations": [{"expression": "true"}]}})";
constexpr std::string_view kPolicyBinding = R"({
    "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
    "metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}})";

TEST_F(Executions, AreJudgedByPoliciesOnAFiber) {
  Make("validatingadmissionpolicies", kPolicy);
  EXPECT_EQ(WaitsOf(*On("configmaps", Verb::kCreate)), Waits::kForNothing);
  Make("validatingadmissionpolicybindings", kPolicyBinding);
  EXPECT_EQ(WaitsOf(*On("configmaps", Verb::kCreate)), Waits::kOnFiber);
  EXPECT_EQ(WaitsOf(*On("secrets", Verb::kCreate)), Waits::kForNothing);
}

TEST_F(Executions, AreNotJudgedByPoliciesWhereNothingMayTakeLong) {
  const auto op = On("configmaps", Verb::kCreate);
  op->recorder.ForbidWaiting();
  Make("validatingadmissionpolicies", kPolicy);
  Make("validatingadmissionpolicybindings", kPolicyBinding);
  ExpectRefusesToWait(*op);
}

TEST_F(Executions, KnowBeforehandWhatTheyMayWaitFor) {
  EXPECT_EQ(WaitsOf(*On("configmaps", Verb::kCreate)), Waits::kForNothing);
  EXPECT_EQ(WaitsOf(*On("configmaps", Verb::kGet, "a")), Waits::kForNothing);
  EXPECT_EQ(WaitsOf(*On("pods", Verb::kConnect, "a")), Waits::kOnThread);
  Make("validatingwebhookconfigurations", R"({
    "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "hook"},
    "webhooks": [{"name": "hook.example.com", "admissionReviewVersions": ["v1"],
      "sideEffects": "None", "clientConfig": {"url": "https://127.0.0.1:9/"},
      "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                 "resources": ["configmaps"]}]}]})");
  EXPECT_EQ(WaitsOf(*On("configmaps", Verb::kCreate)), Waits::kOnFiber);
  EXPECT_EQ(WaitsOf(*On("configmaps", Verb::kPatch, "a")),
            Waits::kOnFiber);  // which may create it
  EXPECT_EQ(WaitsOf(*On("configmaps", Verb::kDelete, "a")), Waits::kForNothing);
  EXPECT_EQ(WaitsOf(*On("secrets", Verb::kCreate)), Waits::kForNothing);
  const auto own = On("configmaps", Verb::kCreate);
  own->by_server = true;
  EXPECT_EQ(WaitsOf(*own), Waits::kForNothing);
}

TEST(Engine, HasARowForEachSubresourceThatIsNoPlainWrite) {
  const auto engine = Engine::Create({});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  for (const SubresourceRow& row : Subresources()) {
    if (row.group == "*" || row.resource == "*") continue;
    Operation op((*engine)->world());
    EXPECT_TRUE(Resolve(op, {row.group, "v1", row.resource, row.subresource, "", ""}).ok())
        << row.resource << "/" << row.subresource;
    EXPECT_EQ(FindFunction(op, row.verb), row.function);
    EXPECT_EQ(FindFunction(op, Verb::kDelete), nullptr);
  }
}

}  // namespace
}  // namespace portcullis::engine
