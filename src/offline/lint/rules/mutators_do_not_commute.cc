// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/mutations.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

// Policies run before webhooks, whatever they are called.
bool HaveAnOrder(const Mutator& a, const Mutator& b) {
  return (a.policy == nullptr) != (b.policy == nullptr);
}

void CheckPair(const Mutations& mutations, const Mutator& a, const Mutator& b, Findings& findings) {
  std::vector<Manifest> samples;
  for (const Manifest& sample : mutations.samples()) {
    if (mutations.Matches(a, sample) && mutations.Matches(b, sample)) samples.push_back(sample);
  }
  if (samples.empty() || HaveAnOrder(a, b)) return;
  json::Arena arena;
  const Mutator* const forth[] = {&a, &b};
  const Mutator* const back[] = {&b, &a};
  const auto first = mutations.Apply(arena, forth, samples);
  const auto second = mutations.Apply(arena, back, samples);
  for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
    if (first[i].is_null() && second[i].is_null()) continue;
    const std::string differences = first[i].is_null() || second[i].is_null()
                                        ? "it is admitted in one of both orders only"
                                        : Differences(first[i], second[i]);
    if (differences.empty()) continue;
    findings.Add(b.manifest(), b.steps(),
                 base::StrCat(a.name(), " and ", b.name(), " make different objects of ",
                              Mutations::NameOf(samples[i]), " in the other order: ", differences));
    return;
  }
}

void Check(const LintFacts& facts, Findings& findings) {
  const Mutations mutations(facts);
  const auto& mutators = mutations.mutators();
  for (std::size_t i = 0; i < mutators.size(); ++i) {
    for (std::size_t j = i + 1; j < mutators.size(); ++j) {
      CheckPair(mutations, mutators[i], mutators[j], findings);
    }
  }
}

}  // namespace

const LintRule kMutatorsDoNotCommute = {
    "mutators-do-not-commute",
    Severity::kWarning,
    "two mutating policies or webhooks whose order matters",
    "They run in the order of their names, which says nothing of what is meant: a new name, or one "
    "more of "
    "them, changes the objects (kubernetes #64333, gatekeeper #1133). Both orders are tried with "
    "plain objects "
    "and manifests among the files (the first 40, of the first 20 mutators); webhooks only if "
    "--webhooks calls "
    "them or has their answers.",
    "Let each set fields of its own, or only where they are absent; or make one of the two.",
    &Check};

}  // namespace portcullis::offline
