// SPDX-License-Identifier: Apache-2.0

#include <set>

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

void Check(const LintFacts& facts, Findings& findings) {
  for (const PolicyFact& policy : facts.policies()) {
    const json::Value validations = policy.spec()["validations"];
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < validations.size(); ++i) {
      const std::string_view text = base::Trim(validations[i]["expression"].AsString());
      if (text.empty() || seen.insert(text).second) continue;
      findings.Add(*policy.manifest,
                   std::vector<std::string>{"spec", "validations", std::to_string(i), "expression"},
                   "the same expression stands above: this message is never seen");
      findings.FixByDeleting({"spec", "validations"}, validations, i);
    }
  }
}

}  // namespace

const LintRule kRepeatedValidation = {
    "repeated-validation",
    Severity::kWarning,
    "a validation that stands twice in a policy",
    "The second can never be the one that refuses: its message is never seen.",
    "Delete one of them.",
    &Check,
    "deletes the second"};

}  // namespace portcullis::offline
