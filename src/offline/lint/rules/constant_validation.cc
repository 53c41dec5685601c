// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

void Check(const LintFacts& facts, Findings& findings) {
  for (const PolicyFact& policy : facts.policies()) {
    for (const ExpressionFact& expression : ExpressionsOf(*policy.manifest)) {
      if (expression.section != "validations" && expression.section != "matchConditions") continue;
      const std::string_view text = base::Trim(expression.text);
      if (text != "true" && text != "false") continue;
      findings.Add(*policy.manifest, expression.steps,
                   base::StrCat("the expression is always ", text));
      if (text == "false") continue;  // what was meant is not known
      const std::string section(expression.section);
      const auto index = static_cast<std::size_t>(*base::ParseInt(expression.steps[2]));
      findings.FixByDeleting({"spec", section}, policy.spec()[section], index);
    }
  }
}

}  // namespace

const LintRule kConstantValidation = {
    "constant-validation",
    Severity::kWarning,
    "a validation that always or never holds",
    "`true` refuses nothing and `false` refuses everything: a line of a draft that was "
    "left in.",
    "Write the condition, or delete the validation.",
    &Check,
    "deletes `true`, unless it is the only one"};

}  // namespace portcullis::offline
