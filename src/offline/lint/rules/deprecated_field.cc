// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/rules/rules.h"
#include "offline/lint/trials.h"
#include "offline/suites/reading.h"

namespace portcullis::offline {
namespace {

// The steps to the field that a warning begins with: `spec.template.spec.nodeSelector[x]: deprecated …`.
std::vector<std::string> StepsOf(std::string_view path) {
  std::vector<std::string> steps;
  std::string step;
  for (const char c : path) {
    if (c != '.' && c != '[' && c != ']') {
      step += c;
      continue;
    }
    // A key in brackets may have dots.
    const bool in_brackets = !steps.empty() && steps.back() == "[";
    if (c == '.' && in_brackets) {
      step += c;
      continue;
    }
    if (in_brackets) steps.pop_back();
    if (!step.empty()) steps.push_back(std::move(step));
    step.clear();
    if (c == '[') steps.emplace_back("[");
  }
  if (!step.empty()) steps.push_back(std::move(step));
  return steps;
}

void Check(const LintFacts& facts, Findings& findings) {
  for (const Trial& trial : facts.trials().trials()) {
    if (trial.manifest == nullptr) continue;
    for (const std::string& warning : trial.result.warnings) {
      const auto cut = base::Cut(warning, ": ");
      if (!cut || cut->first.find(' ') != std::string_view::npos) continue;
      if (cut->second.find("deprecated") == std::string_view::npos &&
          cut->second.find("non-functional") == std::string_view::npos) {
        continue;
      }
      findings.Add(*trial.manifest, StepsOf(cut->first), warning);
    }
  }
}

}  // namespace

const LintRule kDeprecatedField = {"deprecated-field",
                                   Severity::kWarning,
                                   "a field or annotation that is deprecated or without effect",
                                   "The API server of this release takes it with a warning that "
                                   "few read; in a later one it may do nothing "
                                   "or be refused.",
                                   "Write what the warning names instead, or leave the field out.",
                                   &Check};

}  // namespace portcullis::offline
