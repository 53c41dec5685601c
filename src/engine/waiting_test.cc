// SPDX-License-Identifier: Apache-2.0

// Operations stop at their commits and say before they start whether they may wait: deletions, scales,
// evictions and bindings as creates and updates do.

#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/strings.h"
#include "engine/engine.h"
#include "engine/subresources/subresources.h"
#include "engine/verbs.h"
#include "registry/services/service_network.h"

namespace portcullis::engine {
namespace {

using admission::Waits;

constexpr std::string_view kGatedPod = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p",
    "labels":{"app":"a"}},"spec":{"containers":[{"name":"c","image":"i"}]}})";
constexpr std::string_view kRunning =
    R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})";

// An engine with the namespace "team", and operations in it.
class Waiting : public ::testing::Test {
 protected:
  void SetUp() override {
    EngineOptions options;
    options.admission_plugins.disable = {"ServiceAccount"};
    auto engine = Engine::Create(std::move(options));
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    engine_ = *std::move(engine);
    Make("namespaces", R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team"}})");
  }

  // `resource` is "deployments.apps/scale".
  std::unique_ptr<Operation> On(std::string_view resource, Verb verb, std::string_view name = "") {
    auto op = std::make_unique<Operation>(engine_->world());
    ResourcePath path;
    if (const auto slash = base::Cut(resource, "/")) {
      resource = slash->first;
      path.subresource = slash->second;
    }
    const auto dot = base::Cut(resource, ".");
    path.resource = dot ? dot->first : resource;
    path.group = dot ? dot->second : "";
    path.version = "v1";
    path.name = name;
    const auto* info = engine_->world().catalog->Get()->Find(path.group, "v1", path.resource);
    if (info != nullptr && info->namespaced) path.ns = "team";
    EXPECT_TRUE(Resolve(*op, path).ok()) << resource;
    op->verb = verb;
    op->user.name = "admin";
    op->user.groups = {std::string(api::kGroupMasters)};
    return op;
  }

  void Make(std::string_view resource, std::string_view body) {
    const auto op = On(resource, Verb::kCreate);
    Input input;
    input.body = body;
    const auto made = Write(*op, input);
    EXPECT_TRUE(made.ok()) << made.status().message();
  }

  void PatchBy(std::string_view resource, std::string_view name, std::string_view body) {
    const auto op = On(resource, Verb::kPatch, name);
    Input input;
    input.body = body;
    const auto made = Write(*op, input);
    EXPECT_TRUE(made.ok()) << made.status().message();
  }

  void MakeHook(std::string_view operation, std::string_view group, std::string_view resource) {
    Make("validatingwebhookconfigurations.admissionregistration.k8s.io",
         base::StrCat(R"({"apiVersion":"admissionregistration.k8s.io/v1",
             "kind":"ValidatingWebhookConfiguration","metadata":{"name":"h"},
             "webhooks":[{"name":"h.example.com","admissionReviewVersions":["v1"],
               "sideEffects":"None","clientConfig":{"url":"https://127.0.0.1:9/"},
               "rules":[{"apiGroups":[")",
                      group, R"("],"apiVersions":["v1"],"operations":[")", operation,
                      R"("],"resources":[")", resource, R"("]}]}]})"));
  }

  // The commits that the execution comes to: "update pods/p", "delete pods/p". Each is made.
  std::vector<std::string> Commits(Operation& op, Execution& execution) {
    constexpr std::string_view kKinds[] = {"create", "update", "delete"};
    std::vector<std::string> commits;
    while (auto write = execution.Advance()) {
      const auto& resource = write->resource != nullptr ? *write->resource : *op.resource;
      commits.push_back(base::StrCat(kKinds[static_cast<std::size_t>(write->kind)], " ",
                                     resource.resource.resource, "/", write->name));
      const std::int64_t before = engine_->world().store->revision();
      auto stored = Commit(op, *std::move(write));
      EXPECT_EQ(engine_->world().store->revision(), before + 1) << "it has been written before";
      execution.Committed(std::move(stored));
    }
    const auto outcome = execution.TakeOutcome();
    EXPECT_TRUE(outcome.ok()) << outcome.status().message();
    return commits;
  }

  std::vector<std::string> CommitsOf(std::string_view resource, Verb verb, std::string_view name,
                                     std::string_view body) {
    const auto op = On(resource, verb, name);
    Input input;
    input.body = body;
    return Commits(*op, *BeginWrite(*op, input));
  }

  std::vector<std::string> CommitsOfDelete(std::string_view resource, std::string_view name) {
    const auto op = On(resource, Verb::kDelete, name);
    return Commits(*op, *BeginDelete(*op, {}));
  }

  std::unique_ptr<Engine> engine_;
};

using Strings = std::vector<std::string>;

TEST_F(Waiting, ADeletionStopsAtItsCommit) {
  Make("configmaps", R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}})");
  Make("configmaps", R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"held",
                         "finalizers":["example.com/f"]}})");
  EXPECT_EQ(CommitsOfDelete("configmaps", "a"), (Strings{"delete configmaps/a"}));
  EXPECT_EQ(CommitsOfDelete("configmaps", "held"), (Strings{"update configmaps/held"}));
  EXPECT_EQ(CommitsOfDelete("namespaces", "team"), (Strings{"update namespaces/team"}));
}

TEST_F(Waiting, ADeletionGoesOnAfterAConflict) {
  Make("configmaps", R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}})");
  const auto op = On("configmaps", Verb::kDelete, "a");
  const auto execution = BeginDelete(*op, {});
  const auto first = execution->Advance();
  ASSERT_TRUE(first.has_value());
  PatchBy("configmaps", "a", R"({"data":{"k":"v"}})");
  execution->Committed(Commit(*op, *first));
  const auto second = execution->Advance();
  ASSERT_TRUE(second.has_value());
  EXPECT_GT(second->expected, first->expected);
  execution->Committed(Commit(*op, *second));
  EXPECT_FALSE(execution->Advance().has_value());
  EXPECT_TRUE(execution->TakeOutcome().ok());
}

TEST_F(Waiting, ADeletionEndsIfTheObjectHasGoneMeanwhile) {
  Make("configmaps", R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}})");
  const auto op = On("configmaps", Verb::kDelete, "a");
  const auto execution = BeginDelete(*op, {});
  auto write = execution->Advance();
  ASSERT_TRUE(write.has_value());
  CommitsOfDelete("configmaps", "a");
  execution->Committed(Commit(*op, *std::move(write)));
  EXPECT_FALSE(execution->Advance().has_value());
  const auto outcome = execution->TakeOutcome();
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.status().message(), "configmaps \"a\" not found");
}

TEST_F(Waiting, AScaleStopsAtItsCommit) {
  Make("deployments.apps", R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},
      "spec":{"selector":{"matchLabels":{"app":"a"}},"template":{"metadata":{"labels":{"app":"a"}},
              "spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  EXPECT_EQ(CommitsOf("deployments.apps/scale", Verb::kPatch, "d", R"({"spec":{"replicas":3}})"),
            (Strings{"update deployments/d"}));
  EXPECT_EQ(CommitsOf("deployments.apps/scale", Verb::kUpdate, "d",
                      R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d",
                          "namespace":"team"},"spec":{"replicas":4}})"),
            (Strings{"update deployments/d"}));
  // Nothing changes: nothing is written.
  EXPECT_EQ(CommitsOf("deployments.apps/scale", Verb::kPatch, "d", R"({"spec":{"replicas":4}})"),
            Strings());
}

TEST_F(Waiting, ABindingStopsAtItsCommit) {
  Make("pods", kGatedPod);
  EXPECT_EQ(CommitsOf("pods/binding", Verb::kCreate, "p",
                      R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},
                          "target":{"kind":"Node","name":"n"}})"),
            (Strings{"update pods/p"}));
  Make("pods", base::StrCat(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"q"},)",
                            R"("spec":{"containers":[{"name":"c","image":"i"}]}})"));
  // Of the collection: the pod is not of the operation's resource.
  EXPECT_EQ(CommitsOf("bindings", Verb::kCreate, "",
                      R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"q"},
                          "target":{"kind":"Node","name":"n"}})"),
            (Strings{"update pods/q"}));
}

constexpr std::string_view kEviction =
    R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p","namespace":"team"}})";

TEST_F(Waiting, AnEvictionStopsAtEachOfItsCommits) {
  Make("pods", kGatedPod);
  PatchBy("pods/status", "p", kRunning);
  Make("poddisruptionbudgets.policy", R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget",
      "metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"a"}}}})");
  PatchBy("poddisruptionbudgets.policy/status", "b",
          R"({"status":{"observedGeneration":1,"disruptionsAllowed":1,"currentHealthy":2,
                        "desiredHealthy":1,"expectedPods":2}})");
  EXPECT_EQ(CommitsOf("pods/eviction", Verb::kCreate, "p", kEviction),
            (Strings{"update poddisruptionbudgets/b", "update pods/p", "delete pods/p"}));
}

TEST_F(Waiting, AnEvictionTakesTheBudgetAnewAfterAConflict) {
  Make("pods", kGatedPod);
  PatchBy("pods/status", "p", kRunning);
  Make("poddisruptionbudgets.policy", R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget",
      "metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"a"}}}})");
  constexpr std::string_view kStatus =
      R"({"status":{"observedGeneration":1,"disruptionsAllowed":1,"currentHealthy":2,
                    "desiredHealthy":1,"expectedPods":2}})";
  PatchBy("poddisruptionbudgets.policy/status", "b", kStatus);
  const auto op = On("pods/eviction", Verb::kCreate, "p");
  Input input;
  input.body = kEviction;
  const auto execution = BeginWrite(*op, input);
  auto write = execution->Advance();
  ASSERT_TRUE(write.has_value());
  PatchBy("poddisruptionbudgets.policy/status", "b", R"({"status":{"disruptionsAllowed":0}})");
  execution->Committed(Commit(*op, *std::move(write)));
  EXPECT_FALSE(execution->Advance().has_value());
  const auto outcome = execution->TakeOutcome();
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.status().message(),
            "Cannot evict pod as it would violate the pod's disruption budget.");
}

// Of an operation, and of the rule of a webhook that it may wait for.
struct WaitRow {
  std::string_view resource;
  Verb verb;
  std::string_view operation;
  std::string_view group;
  std::string_view rule;
};

void PrintTo(const WaitRow& row, std::ostream* out) { *out << row.resource << " " << row.rule; }

class WaitRows : public Waiting, public ::testing::WithParamInterface<WaitRow> {};

constexpr WaitRow kWaitRows[] = {
    {"configmaps", Verb::kCreate, "CREATE", "", "configmaps"},
    {"configmaps", Verb::kUpdate, "UPDATE", "", "configmaps"},
    {"configmaps", Verb::kPatch, "UPDATE", "", "configmaps"},
    {"configmaps", Verb::kDelete, "DELETE", "", "configmaps"},
    {"namespaces", Verb::kDelete, "DELETE", "", "namespaces"},
    {"namespaces/finalize", Verb::kUpdate, "UPDATE", "", "namespaces/finalize"},
    {"pods/status", Verb::kPatch, "UPDATE", "", "pods/status"},
    {"pods/resize", Verb::kPatch, "UPDATE", "", "pods/*"},
    {"pods/eviction", Verb::kCreate, "CREATE", "", "pods/eviction"},
    {"pods/binding", Verb::kCreate, "CREATE", "", "pods/binding"},
    {"bindings", Verb::kCreate, "CREATE", "", "bindings"},
    {"serviceaccounts/token", Verb::kCreate, "CREATE", "", "serviceaccounts/token"},
    {"deployments.apps/scale", Verb::kUpdate, "UPDATE", "apps", "deployments/scale"},
    {"deployments.apps/scale", Verb::kPatch, "UPDATE", "apps", "*/scale"},
};

TEST_P(WaitRows, MayWaitForAWebhookThatReviewsThem) {
  const WaitRow& row = GetParam();
  const auto op = On(row.resource, row.verb, "a");
  EXPECT_EQ(WaitsOf(*op), Waits::kForNothing);
  MakeHook(row.operation, row.group, row.rule);
  EXPECT_EQ(WaitsOf(*op), Waits::kOnFiber);
  op->by_server = true;
  EXPECT_EQ(WaitsOf(*op), Waits::kForNothing);
}

INSTANTIATE_TEST_SUITE_P(Operations, WaitRows, ::testing::ValuesIn(kWaitRows));

TEST_F(Waiting, MatchConditionsAreJudgedOnFibers) {
  Make("validatingwebhookconfigurations.admissionregistration.k8s.io", R"({
    "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "h"},
    "webhooks": [{"name": "h.example.com", "admissionReviewVersions": ["v1"],
      "sideEffects": "None", "clientConfig": {"url": "https://127.0.0.1:9/"},
      "matchConditions": [{"name": "c", "expression": "true"}],
      "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                 "resources": ["configmaps"]}]}]})");
  EXPECT_EQ(WaitsOf(*On("configmaps", Verb::kCreate)), Waits::kOnFiber);
}

TEST_F(Waiting, CollectionsWaitForTheCommitsOfTheirDeletions) {
  EXPECT_EQ(WaitsOf(*On("configmaps", Verb::kDeleteCollection)), Waits::kOnThread);
}

TEST_F(Waiting, ConnectionsAlwaysMayWait) {
  for (const SubresourceRow& row : Subresources()) {
    if (row.verb != Verb::kConnect) continue;
    EXPECT_EQ(WaitsOf(*On(base::StrCat(row.resource, "/", row.subresource), row.verb, "a")),
              Waits::kOnThread);
  }
}

TEST_F(Waiting, ServicesWaitForTheObjectsOfTheirAddresses) {
  class Book final : public registry::AddressBook {
    base::Status Enter(std::string_view, std::string_view, std::string_view) override {
      return base::OkStatus();
    }
    void Strike(std::string_view) override {}
  };
  Book book;
  EXPECT_EQ(WaitsOf(*On("services", Verb::kCreate)), Waits::kForNothing);
  engine_->world().services->set_book(&book);
  for (Verb verb :
       {Verb::kCreate, Verb::kUpdate, Verb::kPatch, Verb::kDelete, Verb::kDeleteCollection}) {
    EXPECT_EQ(WaitsOf(*On("services", verb, "s")), Waits::kOnThread);
  }
  EXPECT_EQ(WaitsOf(*On("services", Verb::kGet, "s")), Waits::kForNothing);
  EXPECT_EQ(WaitsOf(*On("configmaps", Verb::kCreate)), Waits::kForNothing);
}

TEST_F(Waiting, SmallRequestsTakeNotLong) {
  Make("configmaps", R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"small"}})");
  for (Verb verb : {Verb::kGet, Verb::kUpdate, Verb::kPatch, Verb::kDelete}) {
    EXPECT_FALSE(MayTakeLong(*On("configmaps", verb, "small")));
  }
  EXPECT_FALSE(MayTakeLong(*On("configmaps", Verb::kCreate)));
  EXPECT_FALSE(MayTakeLong(*On("configmaps", Verb::kList)));
  EXPECT_FALSE(MayTakeLong(*On("pods/eviction", Verb::kCreate, "absent")));
}

TEST_F(Waiting, SmallRequestsOnLargeObjectsMayTakeLong) {
  Make("configmaps",
       base::StrCat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"large"},
            "data":{"a":")",
                    std::string(65 * 1024, 'a'), R"("}})"));
  for (Verb verb : {Verb::kGet, Verb::kUpdate, Verb::kPatch, Verb::kDelete}) {
    EXPECT_TRUE(MayTakeLong(*On("configmaps", verb, "large")));
  }
}

TEST_F(Waiting, ListsOfManyObjectsMayTakeLong) {
  for (int i = 0; i < 100; ++i) {
    Make("configmaps",
         base::StrCat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m)",
                      std::to_string(i), R"("}})"));
  }
  EXPECT_FALSE(MayTakeLong(*On("configmaps", Verb::kList)));
  Make("configmaps", R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"last"}})");
  EXPECT_TRUE(MayTakeLong(*On("configmaps", Verb::kList)));
}

TEST_F(Waiting, ListsOfLargeObjectsMayTakeLong) {
  for (int i = 0; i < 9; ++i) {
    EXPECT_FALSE(MayTakeLong(*On("configmaps", Verb::kList)));
    Make("configmaps",
         base::StrCat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m)",
                      std::to_string(i), R"("},"data":{"a":")", std::string(60 * 1024, 'a'),
                      R"("}})"));
  }
  EXPECT_TRUE(MayTakeLong(*On("configmaps", Verb::kList)));
}

TEST_F(Waiting, WritesWithExpressionsMayTakeLong) {
  for (std::string_view resource :
       {"validatingadmissionpolicies.admissionregistration.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "customresourcedefinitions.apiextensions.k8s.io", "resourceclaims.resource.k8s.io"}) {
    EXPECT_TRUE(MayTakeLong(*On(resource, Verb::kCreate))) << resource;
    EXPECT_TRUE(MayTakeLong(*On(resource, Verb::kPatch, "a"))) << resource;
    EXPECT_FALSE(MayTakeLong(*On(resource, Verb::kGet, "a"))) << resource;
  }
}

TEST_F(Waiting, ReviewsAndWatchesMayTakeLong) {
  EXPECT_TRUE(MayTakeLong(*On("selfsubjectrulesreviews.authorization.k8s.io", Verb::kCreate)));
  EXPECT_TRUE(MayTakeLong(*On("configmaps", Verb::kWatch)));
}

}  // namespace
}  // namespace portcullis::engine
