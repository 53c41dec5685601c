// x-kubernetes-validations: checking the rules of a definition's schema, and evaluating them on
// custom resources (Kubernetes documentation, "CustomResourceDefinition validation rules").
#pragma once

#include "api/field_error.h"
#include "json/value.h"
#include "kube_cel/rule_set.h"

namespace portcullis::registry {

// What is wrong with the rules of a structural schema, their estimated cost included.
void ValidateSchemaRules(json::Value props, const api::FieldPath& path, api::FieldErrors& errors);

// What the rules refuse. `old` is null for a new object; what has not changed since is not judged.
void EvaluateSchemaRules(json::Arena& arena, const kube_cel::RuleSet& rules, json::Value object,
                         const json::Value* old, api::FieldErrors& errors);

}  // namespace portcullis::registry
