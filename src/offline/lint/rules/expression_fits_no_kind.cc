// SPDX-License-Identifier: Apache-2.0

#include <map>
#include <set>

#include "base/strings.h"
#include "kube_cel/policy_types.h"
#include "offline/blame.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"

namespace portcullis::offline {
namespace {

using Errors = std::set<std::string>;

// What type checking says: by path of the expression ("spec.validations[0].expression") its errors, without
// their places.
std::map<std::string, Errors> CheckTypes(const LintFacts& facts, kube_cel::Compiler& compiler,
                                         json::Value policy) {
  std::map<std::string, Errors> out;
  const json::Value warnings =
      kube_cel::CheckPolicyTypes(facts.arena(), compiler, facts.catalog(), policy);
  for (const json::Value& warning : warnings.elements()) {
    Errors& errors = out[std::string(warning["fieldRef"].AsString())];
    for (const std::string_view line : base::Split(warning["warning"].AsString(), '\n')) {
      const std::size_t at = line.find("ERROR: <input>:");
      if (at == std::string_view::npos) continue;
      const std::string_view rest = line.substr(at + std::string_view("ERROR: <input>:").size());
      const auto cut = base::Cut(rest, ": ");
      if (cut) errors.emplace(cut->second);
    }
  }
  return out;
}

bool HasWildcard(json::Value rule) {
  for (const char* list : {"apiGroups", "apiVersions", "resources"}) {
    for (const json::Value& one : rule[list].elements()) {
      if (one.AsString().find_first_of("*/") != std::string_view::npos) return true;
    }
  }
  return false;
}

bool IsServed(const LintFacts& facts, std::string_view group, std::string_view resource) {
  for (const api::catalog::ResourceInfo* info : facts.catalog().resources()) {
    if (info->resource.group == group && info->resource.resource == resource) return true;
  }
  return false;
}

// The policy with each resource of its rules alone; none if one of them cannot be checked.
std::vector<json::Value> OnePolicyForEachKind(const LintFacts& facts, json::Value policy) {
  std::vector<json::Value> out;
  json::Arena& arena = facts.arena();
  for (const json::Value& rule : policy["spec"]["matchConstraints"]["resourceRules"].elements()) {
    if (HasWildcard(rule)) return {};
    for (const json::Value& group : rule["apiGroups"].elements()) {
      // Of custom resources that no file defines nothing is known.
      if (facts.catalog().FindGroup(group.AsString()) == nullptr) return {};
      for (const json::Value& resource : rule["resources"].elements()) {
        if (!IsServed(facts, group.AsString(), resource.AsString())) continue;
        json::Value alone =
            json::With(arena, rule, "resources", json::MakeArray(arena, {resource}));
        alone = json::With(arena, alone, "apiGroups", json::MakeArray(arena, {group}));
        out.push_back(json::SetPath(arena, policy, {"spec", "matchConstraints", "resourceRules"},
                                    json::MakeArray(arena, {alone})));
      }
    }
  }
  return out;
}

void CheckPolicy(const LintFacts& facts, kube_cel::Compiler& compiler, const PolicyFact& policy,
                 Findings& findings) {
  std::map<std::string, Errors> common;
  bool is_first = true;
  for (const json::Value& alone : OnePolicyForEachKind(facts, policy.manifest->object)) {
    auto errors = CheckTypes(facts, compiler, alone);
    if (is_first) {
      common = std::move(errors);
      is_first = false;
      continue;
    }
    for (auto& [path, known] : common) {
      const Errors& also = errors[path];
      std::erase_if(known, [&also](const std::string& error) { return !also.contains(error); });
    }
  }
  for (const auto& [path, errors] : common) {
    const auto steps = FieldSteps(path);
    // What does not compile at all is refused.
    if (errors.empty() || findings.HasErrorAt(*policy.manifest, steps)) continue;
    findings.Add(*policy.manifest, steps,
                 base::StrCat("for each kind of the policy: ", *errors.begin()));
  }
}

void Check(const LintFacts& facts, Findings& findings) {
  kube_cel::Compiler compiler;
  for (const PolicyFact& policy : facts.policies()) {
    if (!policy.mutates) CheckPolicy(facts, compiler, policy, findings);
  }
}

}  // namespace

const LintRule kExpressionFitsNoKind = {
    "expression-fits-no-kind",
    Severity::kWarning,
    "an expression whose types are wrong for every kind that the policy names",
    "The API server takes the policy and writes the error into status.typeChecking, where few look "
    "(kyverno #9351): a misspelt field, or one of another kind. The expression fails when it gets "
    "there.",
    "Correct the field; `kubectl explain` shows those of a kind.",
    &Check};

}  // namespace portcullis::offline
