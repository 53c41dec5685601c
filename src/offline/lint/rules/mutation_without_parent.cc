// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

constexpr std::pair<std::string_view, std::string_view> kParents[] = {
    {"/spec/initContainers/", "initContainers"},
    {"/spec/volumes/", "volumes"},
    {"/spec/imagePullSecrets/", "imagePullSecrets"},
    {"/spec/tolerations/", "tolerations"},
    {"/metadata/labels/", "labels"},
    {"/metadata/annotations/", "annotations"},
};

void Check(const LintFacts& facts, Findings& findings) {
  for (const PolicyFact& policy : facts.policies()) {
    if (!policy.mutates) continue;
    for (const ExpressionFact& expression : ExpressionsOf(*policy.manifest)) {
      if (expression.section != "mutations") continue;
      for (const auto& [path, field] : kParents) {
        if (expression.text.find(path) == std::string_view::npos) continue;
        const bool guarded =
            expression.text.find("has(") != std::string_view::npos ||
            expression.text.find(base::StrCat("?", field)) != std::string_view::npos;
        if (guarded) continue;
        findings.Add(*policy.manifest, expression.steps,
                     base::StrCat("the patch adds below ", path, ", which may be absent"));
      }
    }
  }
}

}  // namespace

const LintRule kMutationWithoutParent = {
    "mutation-without-parent",
    Severity::kError,
    "a JSON patch that adds below a field that may be absent",
    "`add /spec/initContainers/-` fails when the list is absent, and an empty list that "
    "another mutation has added is lost on the way (kubernetes #129309).",
    "Add the list first where it is absent: has(object.spec.initContainers) ? [] : "
    "[JSONPatch{op: 'add', path: '/spec/initContainers', value: []}]; or use an "
    "applyConfiguration.",
    &Check};

}  // namespace portcullis::offline
