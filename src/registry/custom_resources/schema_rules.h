// SPDX-License-Identifier: Apache-2.0

// x-kubernetes-validations: checking the rules of a definition's schema, and evaluating them on
// custom resources (Kubernetes documentation, "CustomResourceDefinition validation rules").
#pragma once

#include <string>
#include <vector>

#include "api/field_error.h"
#include "json/value.h"
#include "kube_cel/evaluation.h"
#include "kube_cel/rule_set.h"

namespace portcullis::registry {

// What is wrong with the texts around the expressions of the schema at `path`: of its own rules, not of those below.
void CheckRuleTexts(json::Value props, const api::FieldPath& path, api::FieldErrors& errors);

// What is wrong with the expressions of a structural schema, their estimated cost included. Nodes at or below which
// `errors` has an error of the schema are left out.
void ValidateSchemaRules(json::Value props, const api::FieldPath& path, api::FieldErrors& errors);

// What the rules refuse. `old` is null for a new object. What a rule without oldSelf refuses of a
// value that has not changed since is no error but a warning (`warnings` may be null).
void EvaluateSchemaRules(json::Arena& arena, const kube_cel::RuleSet& rules, json::Value object,
                         const json::Value* old, api::FieldErrors& errors,
                         std::vector<std::string>* warnings);
// What the rules of `node` and below refuse of a default value, as something that was there before
// and as something new. False if the budget is used up.
bool EvaluateDefaultRules(json::Arena& arena, const kube_cel::RuleNode& node, json::Value value,
                          const api::FieldPath& path, kube_cel::Budget& budget,
                          api::FieldErrors& errors);

}  // namespace portcullis::registry
