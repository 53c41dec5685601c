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

// What is wrong with the rules of a structural schema, their estimated cost included. Only the texts
// around the expressions are looked at in a schema that is not structural, and in those nodes at or
// below which `errors` has an error of the schema.
void ValidateSchemaRules(json::Value props, bool is_structural, const api::FieldPath& path,
                         api::FieldErrors& errors);

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
