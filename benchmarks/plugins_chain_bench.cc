// SPDX-License-Identifier: Apache-2.0

// What the admission chain costs: the whole default chain for a pod of 2 KB without policies and
// webhooks (target: 40 µs of CPU), and each of its plugins alone.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "admission/chain.h"
#include "base/strings.h"
#include "json/reader.h"
#include "plugins/registry.h"
#include "store/memory/memory_store.h"
#include "store/store.h"

namespace portcullis::plugins {
namespace {

// A pod as people write them, defaulted: about 2 KB.
std::string PodText() {
  std::string containers;
  for (int i = 0; i < 3; ++i) {
    containers += base::StrCat(
        i == 0 ? "" : ",", R"({"name":"c)", std::to_string(i),
        R"(","image":"registry.example/team/web:1.)", std::to_string(i),
        R"(","ports":[{"containerPort":8080,"protocol":"TCP"}],"env":[{"name":"A","value":"1"},{"name":"B","value":"2"},{"name":"C","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}],"resources":{"limits":{"cpu":"500m","memory":"256Mi"},"requests":{"cpu":"250m","memory":"128Mi"}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent","securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}})");
  }
  return base::StrCat(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default","labels":{"app":"web","tier":"front"}},"spec":{"volumes":[{"name":"config","configMap":{"name":"c","defaultMode":420}}],"containers":[)",
      containers,
      R"(],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","securityContext":{"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}},"schedulerName":"default-scheduler","enableServiceLinks":true},"status":{}})");
}

void Store(store::Store& store, std::string_view resource, std::string_view ns,
           std::string_view name, std::string_view rest) {
  const std::string head = base::StrCat(R"({"metadata":{"name":")", name, R"(","namespace":")", ns,
                                        R"(","resourceVersion":")");
  store::Encoded encoded{base::StrCat(head, "\"}", rest, "}"), head.size()};
  if (!store.Create({"", resource, ns, name}, std::move(encoded)).ok()) std::abort();
}

// A cluster with one namespace and its service account, and the chain over it.
struct World {
  explicit World(std::vector<const admission::PluginInfo*> plugins) : store(store::OpenMemory()) {
    Store(*store, "namespaces", "", "default", R"(,"status":{"phase":"Active"})");
    Store(*store, "serviceaccounts", "default", "default", "");
    admission::PluginContext context;
    context.reader = store.get();
    auto made = admission::Chain::Create(plugins, {}, context);
    if (!made.ok()) std::abort();
    chain = std::move(made).value();
    auto parsed = json::ParseDocument(PodText());
    if (!parsed.ok()) std::abort();
    pod = *parsed;
  }

  // One create, through both phases.
  bool Create() const {
    json::Arena arena;
    admission::Recorder recorder;
    admission::Attributes attributes;
    attributes.resource = {"", "v1", "pods"};
    attributes.kind = {"", "v1", "Pod"};
    attributes.namespace_name = "default";
    attributes.name = "p";
    attributes.object = pod.root();
    attributes.user.name = "alice";
    admission::Request request(std::move(attributes), arena, recorder);
    const bool mutated = chain->Mutate(request).ok();
    benchmark::DoNotOptimize(chain->Validate(request).ok());
    return mutated;
  }

  std::unique_ptr<store::Store> store;
  std::unique_ptr<admission::Chain> chain;
  json::Document pod;
};

bool IsDefault(const admission::PluginInfo& plugin) {
  return plugin.by_default == admission::Default::kOn && plugin.until_minor == 0;
}

void BM_DefaultChain(benchmark::State& state) {
  std::vector<const admission::PluginInfo*> plugins;
  for (const admission::PluginInfo* plugin : Registered()) {
    if (IsDefault(*plugin)) plugins.push_back(plugin);
  }
  const World world(plugins);
  if (!world.Create()) state.SkipWithError("the pod is refused");
  constexpr double kTarget = 40e-6;  // seconds of CPU
  double runs = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(world.Create());
    ++runs;
  }
  state.counters["of_target"] =
      benchmark::Counter(runs * kTarget, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.SetLabel(base::StrCat("pod of ", std::to_string(PodText().size()), " bytes, ",
                              std::to_string(plugins.size()), " plugins"));
}
BENCHMARK(BM_DefaultChain)->Unit(benchmark::kMicrosecond);

void BM_Plugin(benchmark::State& state, const admission::PluginInfo* plugin) {
  const World world({plugin});
  for (auto _ : state) benchmark::DoNotOptimize(world.Create());
}

}  // namespace
}  // namespace portcullis::plugins

int main(int argc, char** argv) {
  for (const auto* plugin : portcullis::plugins::Registered()) {
    if (!portcullis::plugins::IsDefault(*plugin)) continue;
    benchmark::RegisterBenchmark(("BM_Plugin/" + std::string(plugin->name)).c_str(),
                                 portcullis::plugins::BM_Plugin, plugin);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
