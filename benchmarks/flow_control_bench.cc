// SPDX-License-Identifier: Apache-2.0

// What flow control costs a request that finds a seat: classification and seat, beside the two
// counters that plain limits cost, with the schemas of a new cluster and with thousands of others.
#include <benchmark/benchmark.h>

#include <atomic>
#include <memory>
#include <string>

#include "base/strings.h"
#include "flow_control/bootstrap.h"
#include "flow_control/flow_control.h"
#include "json/writer.h"
#include "store/memory/memory_store.h"

namespace portcullis::flow_control {
namespace {

class BenchTicket final : public Ticket {
 public:
  void Resume(bool) override {}
  RequestDetails Describe() const override { return {}; }
};

void Put(store::Store& store, bool schema, std::string_view name, std::string_view spec) {
  store::Encoded encoded;
  encoded.bytes =
      base::StrCat(R"({"metadata":{"name":")", name, R"(","uid":"u","resourceVersion":")");
  encoded.revision_at = encoded.bytes.size();
  encoded.bytes += base::StrCat(R"("},"spec":)", spec, "}");
  const std::string_view resource = schema ? "flowschemas" : "prioritylevelconfigurations";
  (void)store.Create({kApiGroup, resource, "", name}, std::move(encoded));
}

// The objects of a new cluster, and `count` FlowSchemas for resources of their own.
std::unique_ptr<store::Store> MakeStore(std::int64_t count) {
  auto store = store::OpenMemory();
  json::Arena arena;
  for (const BootstrapObject& one : BootstrapObjects(arena)) {
    Put(*store, one.object["kind"].AsString() == "FlowSchema",
        one.object["metadata"]["name"].AsString(), json::ToString(one.object["spec"]));
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string name = base::StrCat("s", std::to_string(i));
    Put(*store, true, name,
        base::StrCat(R"({"priorityLevelConfiguration":{"name":"workload-low"},
            "matchingPrecedence":50,"rules":[{"subjects":[{"kind":"Group","group":{"name":
            "system:authenticated"}}],"resourceRules":[{"verbs":["*"],"apiGroups":["*"],
            "namespaces":["*"],"resources":[")",
                     name, R"("]}]}]})"));
  }
  return store;
}

void PlainLimit(benchmark::State& state) {
  std::atomic<int> count{0};
  for (auto _ : state) {
    benchmark::DoNotOptimize(count.fetch_add(1));
    count.fetch_sub(1);
  }
}

void Seat(benchmark::State& state) {
  const auto store = MakeStore(state.range(0));
  metrics::Registry registry;
  FlowControl flow_control(600, *store, base::SystemClock(), registry, {});
  const api::UserInfo user{
      "system:serviceaccount:team:robot",
      "",
      {"system:serviceaccounts", "system:serviceaccounts:team", "system:authenticated"},
      {}};
  RequestFacts facts;
  facts.user = &user;
  facts.is_resource = true;
  facts.verb = "create";
  facts.resource = "configmaps";
  facts.ns = "team";
  facts.path = "/api/v1/namespaces/team/configmaps";
  for (auto _ : state) {
    BenchTicket ticket;
    benchmark::DoNotOptimize(
        flow_control.Begin(ticket, facts, nullptr, base::SystemClock().Steady()));
    flow_control.Finish(ticket);
  }
}

void Classify(benchmark::State& state) {
  std::vector<SchemaSpec> specs;
  const auto store = MakeStore(state.range(0));
  for (const auto& object : store->List({kApiGroup, "flowschemas"})) {
    specs.push_back(ReadSchema(object->document().root()));
  }
  const Classifier classifier(specs);
  const api::UserInfo user{"joe", "", {"system:authenticated"}, {}};
  RequestFacts facts;
  facts.user = &user;
  facts.is_resource = true;
  facts.verb = "create";
  facts.resource = "configmaps";
  facts.ns = "team";
  for (auto _ : state) benchmark::DoNotOptimize(classifier.Find(facts));
}

BENCHMARK(PlainLimit);
BENCHMARK(Seat)->Arg(0)->Arg(5000);
BENCHMARK(Classify)->Arg(0)->Arg(5000);

}  // namespace
}  // namespace portcullis::flow_control
