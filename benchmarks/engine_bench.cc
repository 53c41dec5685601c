// The engine without a server: what it costs to open one, and a create from bytes to the store.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "engine/engine.h"
#include "engine/verbs.h"

namespace portcullis::engine {
namespace {

// of_target: the share of 5 ms that opening may take.
void BM_Open(benchmark::State& state) {
  constexpr double kTarget = 5e-3;  // seconds of CPU
  double runs = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(Engine::Create({}));
    ++runs;
  }
  state.counters["of_target"] =
      benchmark::Counter(runs * kTarget, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_Open)->Unit(benchmark::kMillisecond);

// The baseline of BM_Open: the data of Kubernetes' kinds, which every process reads.
void BM_LoadCatalog(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(api::catalog::Catalog::BuiltIn({}));
}
BENCHMARK(BM_LoadCatalog)->Unit(benchmark::kMillisecond);

bool Make(const Engine& engine, std::string_view resource, std::string_view ns,
          std::string_view body, bool dry_run) {
  Operation op(engine.world());
  if (!Resolve(op, {.version = "v1", .resource = resource, .ns = ns}).ok()) return false;
  op.verb = Verb::kCreate;
  op.user.name = "alice";
  op.dry_run = dry_run;
  Input input;
  input.body = body;
  input.options.dry_run = dry_run;
  return Create(op, input).ok();
}

// A ConfigMap of 1 KB through the default chain: all but the commit, and with it.
void BM_CreateConfigMap(benchmark::State& state) {
  const bool dry_run = state.range(0) != 0;
  const auto engine = Engine::Create({});
  if (!engine.ok() ||
      !Make(**engine, "namespaces", "",
            R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team"}})", false)) {
    return state.SkipWithError("no engine");
  }
  const std::string data(1024, 'x');
  std::size_t number = 0;
  for (auto _ : state) {
    const std::string body = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c)" +
                             std::to_string(++number) + R"("},"data":{"k":")" + data + "\"}}";
    if (!Make(**engine, "configmaps", "team", body, dry_run)) {
      return state.SkipWithError("the object is refused");
    }
  }
  state.SetLabel(dry_run ? "dry run" : "stored in memory");
}
BENCHMARK(BM_CreateConfigMap)->Arg(1)->Arg(0)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace portcullis::engine
