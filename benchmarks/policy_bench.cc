// SPDX-License-Identifier: Apache-2.0

// What policies cost a request: many that do not match, many that do, many bindings of one; and
// what each of them holds in memory, without the object it was made from.
#include <benchmark/benchmark.h>
#include <malloc.h>

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

// --- Memory ---

std::size_t Held() { return mallinfo2().uordblks; }

// `make` is given 0, 1, 2, … and returns what is kept.
template <typename Make>
void MemoryOfEach(benchmark::State& state, Make make) {
  constexpr int kWarm = 100;  // tables that grow once
  for (auto _ : state) {
    std::vector<decltype(make(0))> kept;
    const auto count = static_cast<int>(state.range(0));
    kept.reserve(static_cast<std::size_t>(count + kWarm));
    for (int i = 0; i < kWarm; ++i) kept.push_back(make(i));
    const std::size_t before = Held();
    for (int i = 0; i < count; ++i) kept.push_back(make(kWarm + i));
    state.counters["bytes_each"] = static_cast<double>(Held() - before) / count;
  }
}

json::Document ParsedBinding(int i, std::string_view more) {
  return json::ParseDocument(base::StrCat(R"({"metadata":{"name":"a-binding-of-team-)",
                                          std::to_string(i),
                                          R"("},"spec":{"policyName":"a-policy-of-everybody",)",
                                          R"("validationActions":["Deny","Audit"])", more, "}}"))
      .value();
}

void MemoryOfBinding(benchmark::State& state) {
  SelectorPool selectors;
  MemoryOfEach(state,
               [&](int i) { return CompileBinding(selectors, ParsedBinding(i, "").root()); });
}

// As a cluster with a namespace for each team has them.
void MemoryOfBindingWithSelectorAndParams(benchmark::State& state) {
  SelectorPool selectors;
  MemoryOfEach(state, [&](int i) {
    const std::string team = std::to_string(i);
    return CompileBinding(
        selectors,
        ParsedBinding(i, base::StrCat(R"(,"paramRef":{"name":"limits-)", team,
                                      R"(","parameterNotFoundAction":"Deny"},"matchResources":{)"
                                      R"("matchPolicy":"Equivalent","objectSelector":{},)"
                                      R"("namespaceSelector":{"matchLabels":{"team":")",
                                      team, "\"}}}"))
            .root());
  });
}

void MemoryOfDistinctExpression(benchmark::State& state) {
  kube_cel::Compiler compiler;
  MemoryOfEach(state, [&](int i) {
    return compiler.Compile(
        {},
        base::StrCat("object.spec.replicas <= ", std::to_string(i),
                     " && object.metadata.name.startsWith('team-", std::to_string(i % 10), "-')"),
        kube_cel::Expected::kBool);
  });
}

// A policy of its own name that says what another has said already.
void MemoryOfEqualPolicy(benchmark::State& state) {
  kube_cel::Compiler compiler;
  SelectorPool selectors;
  MemoryOfEach(state, [&](int i) {
    const auto policy = json::ParseDocument(base::StrCat(
        R"({"metadata":{"name":"policy-)", std::to_string(i),
        R"("},"spec":{"failurePolicy":"Fail","matchConstraints":{"matchPolicy":"Equivalent",)"
        R"("namespaceSelector":{},"objectSelector":{},"resourceRules":[{"apiGroups":["apps"],)"
        R"("apiVersions":["v1"],"operations":["CREATE"],"resources":["deployments"]}]},)",
        kSpec, "}}"));
    return CompilePolicy(compiler, selectors, PolicyType::kValidating, policy.value().root());
  });
}

BENCHMARK(MemoryOfBinding)->Arg(10000)->Iterations(1);
BENCHMARK(MemoryOfBindingWithSelectorAndParams)->Arg(10000)->Iterations(1);
BENCHMARK(MemoryOfDistinctExpression)->Arg(10000)->Iterations(1);
BENCHMARK(MemoryOfEqualPolicy)->Arg(1000)->Iterations(1);

BENCHMARK(NoneMatches)->Arg(0)->Arg(1000);
BENCHMARK(AllMatch)->Arg(1)->Arg(50);
BENCHMARK(BindingsOfOne)->Arg(1)->Arg(1024);

}  // namespace
}  // namespace portcullis::policy
