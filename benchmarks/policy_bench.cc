// What policies cost a request: many that do not match, many that do, many bindings of one.
#include <benchmark/benchmark.h>

#include "policy/cel_policy/testing/cluster.h"

namespace portcullis::policy {
namespace {

constexpr std::string_view kMap =
    R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"},)"
    R"("data":{"x":"1"}})";
constexpr std::string_view kSpec =
    R"_("validations":[{"expression":"object.metadata.name.startsWith('a') && has(object.data)"}])_";

void Run(benchmark::State& state, testing::Cluster& cluster) {
  for (auto _ : state) {
    const base::Status status = cluster.Validate(kMap);
    if (!status.ok()) state.SkipWithError(status.message().c_str());
  }
}

void NoneMatches(benchmark::State& state) {
  testing::Cluster cluster;
  for (int i = 0; i < state.range(0); ++i) {
    const std::string name = base::StrCat("p", std::to_string(i));
    cluster.Policy("validatingadmissionpolicies", name, kSpec, base::StrCat("things", name));
    cluster.Binding("validatingadmissionpolicybindings", name, name,
                    R"("validationActions":["Deny"])");
  }
  Run(state, cluster);
}

void AllMatch(benchmark::State& state) {
  testing::Cluster cluster;
  for (int i = 0; i < state.range(0); ++i) {
    cluster.Validating(base::StrCat("p", std::to_string(i)), kSpec);
  }
  Run(state, cluster);
}

void BindingsOfOne(benchmark::State& state) {
  testing::Cluster cluster;
  cluster.Policy("validatingadmissionpolicies", "p", kSpec);
  for (int i = 0; i < state.range(0); ++i) {
    cluster.Binding("validatingadmissionpolicybindings", base::StrCat("b", std::to_string(i)), "p",
                    R"("validationActions":["Deny"])");
  }
  Run(state, cluster);
}

BENCHMARK(NoneMatches)->Arg(0)->Arg(1000);
BENCHMARK(AllMatch)->Arg(1)->Arg(50);
BENCHMARK(BindingsOfOne)->Arg(1)->Arg(1024);

}  // namespace
}  // namespace portcullis::policy
