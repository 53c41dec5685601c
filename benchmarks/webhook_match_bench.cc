// SPDX-License-Identifier: Apache-2.0

// What configured webhooks cost a request that none of them matches, and one that a few match.
#include <benchmark/benchmark.h>

#include <string>

#include "admission/match/rule_index.h"
#include "base/strings.h"
#include "webhook/configuration.h"
#include "webhook/matcher.h"

namespace portcullis {
namespace {

using admission::match::MatchPolicy;
using admission::match::Rule;

// `count` webhooks for resources of their own, as operators install them.
std::shared_ptr<const webhook::HookSet> MakeHooks(int count, bool matching) {
  auto selector = std::make_shared<webhook::SharedSelector>();
  std::vector<std::shared_ptr<const webhook::Hook>> hooks;
  for (int i = 0; i < count; ++i) {
    auto hook = std::make_shared<webhook::Hook>();
    Rule rule;
    rule.operations = admission::kCreate;
    rule.groups = {matching ? "" : base::StrCat("group", std::to_string(i % 100), ".example.com")};
    rule.versions = {"*"};
    rule.resources = {matching ? "configmaps" : base::StrCat("things", std::to_string(i))};
    hook->rules = {rule};
    hook->match_policy = MatchPolicy::kEquivalent;
    hook->namespace_selector = selector;
    hook->object_selector = selector;
    hooks.push_back(std::move(hook));
  }
  return webhook::MakeHookSet(std::move(hooks));
}

void Match(benchmark::State& state, bool matching) {
  const auto hooks = MakeHooks(static_cast<int>(state.range(0)), matching);
  json::Arena arena;
  admission::Recorder recorder;
  admission::Attributes attributes;
  attributes.resource = {"", "v1", "configmaps"};
  attributes.kind = {"", "v1", "ConfigMap"};
  attributes.namespace_name = "default";
  const admission::Request request(std::move(attributes), arena, recorder);
  const webhook::Services services;
  for (auto _ : state) {
    webhook::Matcher matcher(*hooks, request, services);
    benchmark::DoNotOptimize(matcher.candidates().size());
  }
}

void NoneMatches(benchmark::State& state) { Match(state, false); }
void AllMatch(benchmark::State& state) { Match(state, true); }

BENCHMARK(NoneMatches)->Arg(1)->Arg(100)->Arg(10'000);
BENCHMARK(AllMatch)->Arg(1)->Arg(10);

}  // namespace
}  // namespace portcullis
