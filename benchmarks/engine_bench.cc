// SPDX-License-Identifier: Apache-2.0

// The engine without a server: what it costs to open one, and a create from bytes to the store.
#include <benchmark/benchmark.h>
#include <time.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "admission/trace/document.h"
#include "base/clock.h"
#include "base/strings.h"
#include "engine/engine.h"
#include "engine/operation_trace.h"
#include "engine/verbs.h"
#include "json/writer.h"

namespace portcullis::engine {
namespace {

base::Duration CpuTime() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

// of_target: the share of 5 ms of CPU that opening may take. of_catalog: the ratio to the baseline of the
// same run, the data of Kubernetes' kinds, which every process reads. What the first engine of a
// process takes, --benchmark_min_time=0.000001 shows.
void BM_Open(benchmark::State& state) {
  constexpr base::Duration kTarget = std::chrono::milliseconds(5);
  base::Duration opening{};
  base::Duration loading{};
  for (auto _ : state) {
    const base::Duration start = CpuTime();
    benchmark::DoNotOptimize(Engine::Create({}));
    const base::Duration middle = CpuTime();
    opening += middle - start;
    state.PauseTiming();
    benchmark::DoNotOptimize(api::catalog::Catalog::BuiltIn({}));
    loading += CpuTime() - middle;
    state.ResumeTiming();
  }
  const auto runs = static_cast<double>(state.iterations());
  state.counters["of_target"] =
      static_cast<double>(opening.count()) / runs / static_cast<double>(kTarget.count());
  state.counters["of_catalog"] =
      static_cast<double>(opening.count()) / static_cast<double>(loading.count());
}
BENCHMARK(BM_Open)->Unit(benchmark::kMillisecond);

void BM_LoadCatalog(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(api::catalog::Catalog::BuiltIn({}));
}
BENCHMARK(BM_LoadCatalog)->Unit(benchmark::kMillisecond);

// What a create is asked to leave behind besides the object.
enum class Tracing : std::uint8_t { kOff, kSteps, kDocument };

bool Make(const Engine& engine, std::string_view resource, std::string_view ns,
          std::string_view body, bool dry_run, Tracing tracing = Tracing::kOff) {
  Operation op(engine.world());
  std::optional<admission::Trace> trace;
  if (tracing != Tracing::kOff) op.recorder.set_trace(&trace.emplace(base::SystemClock()));
  if (!Resolve(op, {.version = "v1", .resource = resource, .ns = ns}).ok()) return false;
  op.verb = Verb::kCreate;
  op.user.name = "alice";
  op.dry_run = dry_run;
  Input input;
  input.body = body;
  input.options.dry_run = dry_run;
  const auto outcome = Write(op, input);
  if (tracing == Tracing::kDocument) {
    FinishTrace(*trace, outcome);
    benchmark::DoNotOptimize(
        json::ToString(admission::TraceDocument(op.arena, *trace, DescribeOperation(op), {})));
  }
  return outcome.ok();
}

std::unique_ptr<Engine> EngineWithNamespace(benchmark::State& state) {
  auto engine = Engine::Create({});
  if (!engine.ok() ||
      !Make(**engine, "namespaces", "",
            R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team"}})", false)) {
    state.SkipWithError("no engine");
    return nullptr;
  }
  return *std::move(engine);
}

std::string ConfigMap(std::size_t number) {
  return base::StrCat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c)",
                      std::to_string(number), R"("},"data":{"k":")", std::string(1024, 'x'),
                      "\"}}");
}

// A ConfigMap of 1 KB through the default chain: all but the commit, and with it.
void BM_CreateConfigMap(benchmark::State& state) {
  const bool dry_run = state.range(0) != 0;
  const auto engine = EngineWithNamespace(state);
  if (engine == nullptr) return;
  std::size_t number = 0;
  for (auto _ : state) {
    if (!Make(*engine, "configmaps", "team", ConfigMap(++number), dry_run)) {
      return state.SkipWithError("the object is refused");
    }
  }
  state.SetLabel(dry_run ? "dry run" : "stored in memory");
}
BENCHMARK(BM_CreateConfigMap)->Arg(1)->Arg(0)->Unit(benchmark::kMicrosecond);

// What a trace costs the request that asked for it: of_untraced is the ratio to the same create
// without one, measured in the same run. A request that asks for none pays a null pointer test a
// step; what that is can be counted with
//   valgrind --tool=callgrind build/release/engine_bench --benchmark_filter=BM_CreateConfigMap/1
// before and after.
void BM_CreateTraced(benchmark::State& state) {
  const auto tracing = static_cast<Tracing>(state.range(0));
  const auto engine = EngineWithNamespace(state);
  if (engine == nullptr) return;
  std::size_t number = 0;
  base::Duration traced{};
  base::Duration untraced{};
  for (auto _ : state) {
    const std::string body = ConfigMap(++number);
    const base::SteadyTime start = base::SystemClock().Steady();
    const bool made = Make(*engine, "configmaps", "team", body, true, tracing);
    const base::SteadyTime middle = base::SystemClock().Steady();
    if (!made || !Make(*engine, "configmaps", "team", body, true)) {
      return state.SkipWithError("the object is refused");
    }
    traced += middle - start;
    untraced += base::SystemClock().Steady() - middle;
  }
  state.counters["of_untraced"] =
      static_cast<double>(traced.count()) / static_cast<double>(untraced.count());
  state.SetLabel(tracing == Tracing::kSteps ? "steps" : "steps and document");
}
BENCHMARK(BM_CreateTraced)->Arg(1)->Arg(2)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace portcullis::engine
