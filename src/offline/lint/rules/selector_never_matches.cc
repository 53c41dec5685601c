// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "api/selector/label_selector.h"
#include "base/strings.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

using Requirement = api::LabelSelector::Requirement;
using Operator = api::LabelSelector::Operator;

bool Contradict(const Requirement& a, const Requirement& b) {
  if (a.key != b.key) return false;
  const bool a_needs =
      a.op == Operator::kIn || a.op == Operator::kExists || a.op == Operator::kEquals;
  const bool b_needs =
      b.op == Operator::kIn || b.op == Operator::kExists || b.op == Operator::kEquals;
  if (a_needs && b.op == Operator::kDoesNotExist) return true;
  if (!a_needs || !b_needs || a.op == Operator::kExists || b.op == Operator::kExists) return false;
  for (const std::string& value : a.values) {
    if (std::find(b.values.begin(), b.values.end(), value) != b.values.end()) return false;
  }
  return true;
}

bool NeverMatches(json::Value selector) {
  const auto parsed = api::LabelSelector::FromJson(selector);
  if (!selector.is_object() || !parsed.ok()) return false;
  for (const Requirement& a : parsed->requirements()) {
    for (const Requirement& b : parsed->requirements()) {
      if (Contradict(a, b)) return true;
    }
  }
  return false;
}

void CheckSelectors(const Manifest& manifest, json::Value value, std::vector<std::string> steps,
                    Findings& findings) {
  for (std::string_view name : {"namespaceSelector", "objectSelector"}) {
    if (!NeverMatches(value[name])) continue;
    steps.emplace_back(name);
    findings.Add(manifest, steps, base::StrCat("the ", name, " can select nothing"));
    steps.pop_back();
  }
}

void Check(const LintFacts& facts, Findings& findings) {
  for (const WebhookFact& webhook : facts.webhooks()) {
    CheckSelectors(*webhook.configuration, webhook.hook, webhook.Steps({}), findings);
  }
  for (const PolicyFact& policy : facts.policies()) {
    CheckSelectors(*policy.manifest, policy.spec()["matchConstraints"],
                   {"spec", "matchConstraints"}, findings);
  }
  for (const Manifest* binding : facts.bindings()) {
    CheckSelectors(*binding, binding->object["spec"]["matchResources"], {"spec", "matchResources"},
                   findings);
  }
}

}  // namespace

const LintRule kSelectorNeverMatches = {
    "selector-never-matches",
    Severity::kError,
    "a selector that contradicts itself",
    "No object and no namespace can have such labels: the webhook, policy or binding is "
    "never asked.",
    "Correct matchLabels and matchExpressions.",
    &Check};

}  // namespace portcullis::offline
