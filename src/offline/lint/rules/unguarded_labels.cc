// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

void Check(const LintFacts& facts, Findings& findings) {
  for (const PolicyFact& policy : facts.policies()) {
    bool guarded = false;
    for (const json::Value& condition : policy.spec()["matchConditions"].elements()) {
      guarded = guarded || condition["expression"].AsString().find("has(object.metadata.") !=
                               std::string_view::npos;
    }
    if (guarded) continue;
    for (const ExpressionFact& expression : ExpressionsOf(*policy.manifest)) {
      for (std::string_view field : {"labels", "annotations"}) {
        const std::string path = base::StrCat("object.metadata.", field);
        const std::string_view text = expression.text;
        if (!Mentions(text, path)) continue;
        if (text.find(base::StrCat("has(", path, ")")) != std::string_view::npos) continue;
        findings.Add(*policy.manifest, expression.steps,
                     base::StrCat("the expression reads ", path, " without has()"));
      }
    }
  }
}

}  // namespace

const LintRule kUnguardedLabels = {
    "unguarded-labels",
    Severity::kError,
    "an expression that fails for objects without labels or annotations",
    "Labels and annotations are absent where nothing is set: `no such key: labels` "
    "refuses objects that the policy was not made for (celtest review, kubernetes PR "
    "#138564).",
    "Guard it: has(object.metadata.labels), or "
    "object.metadata.?labels[?'app'].orValue('').",
    &Check};

}  // namespace portcullis::offline
