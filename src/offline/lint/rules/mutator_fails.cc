// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/mutations.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

// Whether the mutator itself has failed. A webhook may also refuse an object.
bool IsFailure(const Failure& failure) {
  return failure.source.starts_with("MutatingAdmissionPolicy ") ||
         (failure.source.starts_with("webhook ") &&
          !failure.message.starts_with("admission webhook "));
}

// The mutation that has failed, else the mutator.
std::vector<std::string> StepsTo(const Mutator& mutator, const Failure& failure) {
  if (mutator.policy != nullptr && !failure.expression.empty()) {
    for (const ExpressionFact& expression : ExpressionsOf(mutator.manifest())) {
      if (base::Trim(expression.text) == failure.expression) return expression.steps;
    }
  }
  return mutator.steps();
}

void CheckMutator(const Mutations& mutations, const Mutator& mutator, Findings& findings) {
  const std::vector<Manifest> samples = mutations.SamplesOf(mutator);
  if (samples.empty()) return;
  json::Arena arena;
  const Mutator* const alone[] = {&mutator};
  std::vector<Result> results;
  mutations.Apply(arena, alone, samples, &results);
  for (std::size_t i = 0; i < results.size(); ++i) {
    for (const Failure& failure : results[i].failures) {
      if (!IsFailure(failure)) continue;
      const std::vector<std::string> steps = StepsTo(mutator, failure);
      if (findings.HasErrorAt(mutator.manifest(), steps)) return;
      return findings.Add(mutator.manifest(), steps,
                          base::StrCat(mutator.name(), " fails for ", Mutations::NameOf(samples[i]),
                                       ": ", failure.message));
    }
  }
}

void Check(const LintFacts& facts, Findings& findings) {
  const Mutations mutations(facts);
  for (const Mutator& mutator : mutations.mutators()) CheckMutator(mutations, mutator, findings);
}

}  // namespace

const LintRule kMutatorFails = {
    "mutator-fails",
    Severity::kError,
    "a mutating policy or webhook whose change cannot be made",
    "A patch that removes, replaces or tests a field that is absent, or gives one a value of "
    "another type: the request is refused with an error that names no webhook. It is applied to "
    "plain objects and manifests among the files (the first 40); webhooks only if --webhooks calls "
    "them or has their answers.",
    "Look for the field before it is changed: has(object.spec.x) ? [JSONPatch{…}] : [].",
    &Check};

}  // namespace portcullis::offline
