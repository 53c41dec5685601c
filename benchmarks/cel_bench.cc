// SPDX-License-Identifier: Apache-2.0

// Ten expressions of real policies over one Deployment: nanoseconds per evaluation (with costs
// counted) and per compilation, and how many times faster that is than cel-go with cost tracking on
// the same kind of machine (counter x_cel_go; for compilations against 100 µs).
#include <benchmark/benchmark.h>

#include <memory>
#include <string_view>

#include "cel/environment.h"
#include "json/reader.h"

namespace {

namespace cel = portcullis::cel;
namespace json = portcullis::json;

struct Case {
  std::string_view expression;
  double cel_go_us;
};

constexpr Case kCases[] = {
    {R"cel(object.metadata.labels['app'] == 'bench')cel", 1.9},
    {R"cel(object.spec.replicas <= 5 && object.spec.replicas > 0)cel", 2.3},
    {R"cel(object.spec.template.spec.containers.all(c, c.image.startsWith('registry.example.com/')))cel",
     6.4},
    {R"cel(object.spec.template.spec.containers.all(c, has(c.resources) && has(c.resources.limits) && 'memory' in c.resources.limits))cel",
     10.6},
    {R"cel(!object.spec.template.spec.containers.exists(c, has(c.securityContext) && has(c.securityContext.privileged) && c.securityContext.privileged))cel",
     9.3},
    {R"cel(object.metadata.labels.all(k, k.matches('^[a-z0-9./-]+$')))cel", 6.6},
    {R"cel(object.spec.template.spec.containers.map(c, c.name).filter(n, n != 'side').size() == 1)cel",
     7.9},
    {R"cel(has(object.spec.template.spec.securityContext) && object.spec.template.spec.securityContext.?runAsNonRoot.orValue(false))cel",
     3.5},
    {R"cel(object.metadata.name.size() < 63 && object.metadata.namespace in ['prod', 'staging', 'bench'] && request.operation == 'CREATE')cel",
     3.3},
    {R"cel(object.spec.template.spec.containers.all(c, c.env.all(e, e.name != 'SECRET' && size(e.value) < 100)))cel",
     19.2}};

constexpr std::string_view kVariables =
    R"json({"request": {"operation": "CREATE", "userInfo": {"username": "alice", "groups": ["system:authenticated", "dev"]}}, "object": {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web-frontend", "namespace": "bench", "labels": {"app": "bench", "team": "a", "app.kubernetes.io/name": "web", "tier": "front"}}, "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "bench"}}, "template": {"metadata": {"labels": {"app": "bench"}}, "spec": {"securityContext": {"runAsNonRoot": true}, "containers": [{"name": "main", "image": "registry.example.com/web:1.2.3", "resources": {"limits": {"cpu": "200m", "memory": "128Mi"}}, "securityContext": {"privileged": false, "allowPrivilegeEscalation": false}, "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "C", "value": "3"}, {"name": "D", "value": "4"}]}, {"name": "side", "image": "registry.example.com/side:1.0.0", "resources": {"limits": {"cpu": "100m", "memory": "64Mi"}}, "securityContext": {"privileged": false}, "env": [{"name": "E", "value": "5"}, {"name": "F", "value": "6"}]}]}}}}})json";

std::shared_ptr<const cel::Environment> MakeEnvironment() {
  cel::EnvironmentBuilder builder;
  builder.AddLibrary(cel::kStringsLibrary, 2)
      .AddLibrary(cel::kSetsLibrary)
      .AddLibrary(cel::kListsLibrary)
      .AddLibrary(cel::kOptionalLibrary)
      .AddLibrary(cel::kTwoVariableLibrary)
      .AddVariable("object", "dyn")
      .AddVariable("request", "dyn");
  builder.options().homogeneous_literals = true;
  builder.options().validate_literals = true;
  return *builder.Build();
}

void Evaluate(benchmark::State& state) {
  const Case& row = kCases[state.range(0)];
  const auto environment = MakeEnvironment();
  const auto compilation = environment->Compile(row.expression);
  if (!compilation.ok()) {
    state.SkipWithError(compilation.ErrorText().c_str());
    return;
  }
  const auto variables = json::ParseDocument(std::string(kVariables));
  cel::Activation activation(*environment);
  activation.BindJson("object", variables->root().Find("object"));
  activation.BindJson("request", variables->root().Find("request"));
  cel::EvalOptions options;
  options.cost_limit = 1000000;
  double runs = 0;
  for (auto _ : state) {
    json::Arena arena;
    const cel::Outcome outcome = compilation.program->Evaluate(activation, arena, options);
    if (outcome.value.is_error()) state.SkipWithError("evaluation failed");
    benchmark::DoNotOptimize(outcome);
    ++runs;
  }
  state.counters["x_cel_go"] =
      benchmark::Counter(runs * row.cel_go_us * 1e-6, benchmark::Counter::kIsRate);
}
BENCHMARK(Evaluate)->DenseRange(0, 9);

void Compile(benchmark::State& state) {
  const auto environment = MakeEnvironment();
  double runs = 0;
  for (auto _ : state) {
    auto compilation = environment->Compile(kCases[state.range(0)].expression);
    benchmark::DoNotOptimize(compilation);
    ++runs;
  }
  state.counters["x_cel_go"] = benchmark::Counter(runs * 100e-6, benchmark::Counter::kIsRate);
}
BENCHMARK(Compile)->DenseRange(0, 9);

}  // namespace
