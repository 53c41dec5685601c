// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/mutations.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

constexpr int kMostRounds = 5;

std::vector<Manifest> AsManifests(const std::vector<Manifest>& origins,
                                  const std::vector<json::Value>& objects) {
  std::vector<Manifest> out;
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const auto arena = std::make_shared<json::Arena>();
    Manifest manifest = MakeManifest(origins[i], arena, json::DeepCopy(*arena, objects[i]));
    out.push_back(std::move(manifest));
  }
  return out;
}

// The mutator is applied to what it has made, until nothing changes.
void CheckMutator(const Mutations& mutations, const Mutator& mutator, Findings& findings) {
  const std::vector<Manifest> samples = mutations.SamplesOf(mutator);
  if (samples.empty()) return;
  json::Arena arena;
  const Mutator* const alone[] = {&mutator};
  std::vector<json::Value> before = mutations.Apply(arena, alone, samples);
  std::string what;
  std::size_t sample = 0;
  int rounds = 1;
  for (; rounds <= kMostRounds && !before.empty(); ++rounds) {
    const auto after = mutations.Apply(arena, alone, AsManifests(samples, before));
    std::string differences;
    for (std::size_t i = 0; i < after.size() && differences.empty(); ++i) {
      if (before[i].is_null() || after[i].is_null()) continue;
      differences = Differences(before[i], after[i]);
      if (!differences.empty() && what.empty()) {
        sample = i;
        what = differences;
      }
    }
    if (differences.empty()) break;
    before = after;
  }
  if (what.empty()) return;
  const std::string end =
      rounds > kMostRounds ? "nothing is settled after 5 times"
                           : base::StrCat("it is settled after ", std::to_string(rounds), " times");
  findings.Add(mutator.manifest(), mutator.steps(),
               base::StrCat(mutator.name(), " changes what it has made of ",
                            Mutations::NameOf(samples[sample]), ": ", what, "; ", end));
}

void Check(const LintFacts& facts, Findings& findings) {
  const Mutations mutations(facts);
  for (const Mutator& mutator : mutations.mutators()) CheckMutator(mutations, mutator, findings);
}

}  // namespace

const LintRule kMutatorDoesNotConverge = {
    "mutator-does-not-converge",
    Severity::kError,
    "a mutating policy or webhook that changes once more what it has made",
    "It is called again: for the same object when another mutator has changed it "
    "(reinvocationPolicy IfNeeded), "
    "and for every update. Containers are added twice, values grow, GitOps tools never see the "
    "object in sync "
    "(Argo CD #17568, #19800). It is applied to plain objects and manifests among the files (the "
    "first 40), "
    "and to what it makes of them; webhooks only if --webhooks calls them or has their answers.",
    "Change a field only where it is not yet as it is to be; look for the container by its name "
    "before adding "
    "it.",
    &Check};

}  // namespace portcullis::offline
