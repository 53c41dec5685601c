// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "kube_cel/evaluation.h"
#include "kube_cel/policy_types.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

constexpr std::uint64_t kMostBytes = 32 * 1024;

void Check(const LintFacts& facts, Findings& findings) {
  kube_cel::Compiler compiler;
  for (const JudgedFact& judged : facts.judged()) {
    for (const kube_cel::CostlyExpression& costly :
         kube_cel::EstimateCosts(compiler, facts.catalog(), judged.policy.manifest->object,
                                 kube_cel::kCallLimit, kMostBytes)) {
      findings.Add(
          judged.manifest(), judged.StepsOf(costly.steps),
          base::StrCat("for a ", costly.kind, " of ", std::to_string(costly.object_bytes / 1024),
                       " KiB the expression may cost more than ",
                       std::to_string(kube_cel::kCallLimit), ", by its estimate"));
    }
  }
}

}  // namespace

const LintRule kExpressionMayExceedBudget = {
    "expression-may-exceed-budget",
    Severity::kInfo,
    "an expression that may cost too much for objects of 32 KiB",
    "Estimated as kube-apiserver estimates rules of custom resources, for an object whose bytes "
    "are all in the lists that the expression reads. Loops within loops grow with the square of "
    "the object: a large one is refused, or with failurePolicy Ignore gets past the policy.",
    "Compare with a map or `in` instead of an inner loop, or limit the size of the lists first.",
    &Check};

}  // namespace portcullis::offline
