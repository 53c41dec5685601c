// SPDX-License-Identifier: Apache-2.0

#include <memory>

#include "base/strings.h"
#include "offline/blame.h"
#include "offline/judging.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"
#include "offline/lint/trials.h"

namespace portcullis::offline {
namespace {

// `… "name" is invalid: spec.x: Required value` -> `spec.x: Required value`, and nothing of the lines below, which
// point into an expression.
std::string ShortMessage(std::string_view message) {
  message = message.substr(0, message.find('\n'));
  const auto cut = base::Cut(message, " is invalid: ");
  return std::string(cut ? cut->second : message);
}

void CheckOne(Judging& judging, const Manifest& manifest, Findings& findings) {
  Review review;
  review.operation = "CREATE";
  review.name = manifest.name;
  review.object = manifest.object;
  review.manifest = manifest;
  Result result;
  judging.JudgeReview(review, false, result);
  for (const Failure& failure : result.failures) {
    // What plugins refuse depends on the cluster.
    if (failure.source != "validation" && failure.source != "decode") continue;
    findings.Add(manifest, FieldSteps(failure.path), ShortMessage(failure.message));
  }
}

void Check(const LintFacts& facts, Findings& findings) {
  Inputs cluster;
  std::unique_ptr<Judging> judging;  // made for the first one
  for (const Manifest& manifest : facts.manifests()) {
    if (manifest.group() != "admissionregistration.k8s.io") continue;
    if (judging == nullptr) {
      GiveSurroundings(facts, cluster);
      judging = std::make_unique<Judging>(cluster, facts.options());
      if (!judging->Begin().ok()) return;  // the trials have said so
    }
    CheckOne(*judging, manifest, findings);
  }
}

}  // namespace

const LintRule kRuleIsRefused = {
    "rule-is-refused",
    Severity::kError,
    "a policy, binding or webhook configuration that an API server refuses",
    "Its create is an error, and if an earlier version is stored, that one goes on judging. "
    "Expressions that do not "
    "compile, unknown fields, values that are none of those allowed.",
    "Correct what the message names; `portcullis test` shows the whole answer of the API server.",
    &Check};

}  // namespace portcullis::offline
