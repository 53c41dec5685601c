// SPDX-License-Identifier: Apache-2.0

// The engine without a server: what it costs to open one, and a create from bytes to the store.
#include <benchmark/benchmark.h>
#include <time.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "admission/trace/document.h"
#include "base/clock.h"
#include "base/strings.h"
#include "engine/codec/protobuf.h"
#include "engine/engine.h"
#include "engine/operation_trace.h"
#include "engine/verbs.h"
#include "json/reader.h"
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

std::unique_ptr<Engine> EngineWithTeam(benchmark::State& state, EngineOptions options = {}) {
  auto engine = Engine::Create(std::move(options));
  if (!engine.ok() ||
      !Make(**engine, "namespaces", "",
            R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team"}})", false) ||
      !Make(**engine, "serviceaccounts", "team",
            R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}})",
            false)) {
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
  const auto engine = EngineWithTeam(state);
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

// Functions of their own, for benchmarks/legacy.py to count the instructions of each; not alike, or
// the compiler would make them one.
[[gnu::noinline]] bool MakePlain(const Engine& engine, std::string_view body, bool dry_run) {
  return Make(engine, "configmaps", "team", body, dry_run);
}
[[gnu::noinline]] bool MakeInitialized(const Engine& engine, std::string_view body, bool dry_run) {
  benchmark::ClobberMemory();
  return Make(engine, "configmaps", "team", body, dry_run);
}

// A create with the plugin Initializers and its API enabled, and none configured. of_plain is the
// ratio to the same create without, on the clock; benchmarks/legacy.py counts instructions.
void BM_CreateWithInitializers(benchmark::State& state) {
  const bool dry_run = state.range(0) != 0;
  EngineOptions options;
  options.admission_plugins.enable = {"Initializers"};
  options.runtime_config["admissionregistration.k8s.io/v1alpha1"] = true;
  const auto plain = EngineWithTeam(state);
  const auto engine = EngineWithTeam(state, std::move(options));
  if (plain == nullptr || engine == nullptr) return;
  std::size_t number = 0;
  base::Duration with{};
  base::Duration without{};
  for (auto _ : state) {
    const std::string body = ConfigMap(++number);
    const base::SteadyTime start = base::SystemClock().Steady();
    const bool made = MakeInitialized(*engine, body, dry_run);
    const base::SteadyTime middle = base::SystemClock().Steady();
    if (!made || !MakePlain(*plain, body, dry_run)) {
      return state.SkipWithError("the object is refused");
    }
    with += middle - start;
    without += base::SystemClock().Steady() - middle;
  }
  state.counters["of_plain"] =
      static_cast<double>(with.count()) / static_cast<double>(without.count());
  state.SetLabel(dry_run ? "dry run" : "stored in memory");
}
// As many in each run, for the count of instructions.
BENCHMARK(BM_CreateWithInitializers)
    ->Arg(1)
    ->Arg(0)
    ->Iterations(2000)
    ->Unit(benchmark::kMicrosecond);

// What a trace costs the request that asked for it: of_untraced is the ratio to the same create
// without one, measured in the same run. A request that asks for none pays a null pointer test a
// step; what that is can be counted with
//   valgrind --tool=callgrind build/release/engine_bench --benchmark_filter=BM_CreateConfigMap/1
// before and after.
void BM_CreateTraced(benchmark::State& state) {
  const auto tracing = static_cast<Tracing>(state.range(0));
  const auto engine = EngineWithTeam(state);
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

// A Pod of two containers, as controllers send them.
constexpr std::string_view kPod =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"team","labels":{"app":"web",)"
    R"("tier":"front"},"annotations":{"example.com/note":"as it was made"}},"spec":{)"
    R"("automountServiceAccountToken":false,"containers":[{"name":"main","image":"web:1.2.3","ports":[)"
    R"({"containerPort":8080,"name":"http"}],"env":[{"name":"MODE","value":"production"},{"name":"LEVEL",)"
    R"("value":"info"}],"resources":{"requests":{"cpu":"100m","memory":"64Mi"},"limits":{"cpu":"200m",)"
    R"("memory":"128Mi"}},"livenessProbe":{"httpGet":{"path":"/healthz","port":8080}},"volumeMounts":[)"
    R"({"name":"work","mountPath":"/work"}]},{"name":"side","image":"side:1.0.0","args":["--verbose"]}],)"
    R"("volumes":[{"name":"work","emptyDir":{}}]}})";

// Creates the Pod (dry run) and writes the answer, in the form that it came in.
bool MakePod(const Engine& engine, std::string_view body, MediaType type) {
  Operation op(engine.world());
  if (!Resolve(op, {.version = "v1", .resource = "pods", .ns = "team"}).ok()) return false;
  op.verb = Verb::kCreate;
  op.user.name = "alice";
  op.dry_run = true;
  Input input;
  input.body = body;
  input.type = type;
  input.options.dry_run = true;
  const auto outcome = Write(op, input);
  if (!outcome.ok()) return false;
  std::string answer;
  if (type == MediaType::kJson) {
    json::Write(outcome->object, answer);
    return true;
  }
  return WriteProtobuf(outcome->object, answer).ok();
}

// of_json is the ratio to the same create in JSON, measured in the same run.
void BM_CreatePodInProtobuf(benchmark::State& state) {
  const auto engine = EngineWithTeam(state);
  if (engine == nullptr) return;
  json::Arena arena;
  std::string body;
  const auto pod = json::Parse(arena, kPod);
  if (!pod.ok() || !WriteProtobuf(*pod, body).ok()) return state.SkipWithError("no pod");
  base::Duration protobuf{};
  base::Duration json{};
  for (auto _ : state) {
    const base::SteadyTime start = base::SystemClock().Steady();
    const bool made = MakePod(*engine, body, MediaType::kProtobuf);
    const base::SteadyTime middle = base::SystemClock().Steady();
    if (!made || !MakePod(*engine, kPod, MediaType::kJson)) {
      return state.SkipWithError("the object is refused");
    }
    protobuf += middle - start;
    json += base::SystemClock().Steady() - middle;
  }
  state.counters["of_json"] =
      static_cast<double>(protobuf.count()) / static_cast<double>(json.count());
}
BENCHMARK(BM_CreatePodInProtobuf)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace portcullis::engine
