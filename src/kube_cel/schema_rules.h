// Rules in the schemas of custom resources (x-kubernetes-validations): the types an expression
// sees, the values it is given, and what it may cost at most.
//
// A schema is a JSONSchemaProps object. Pure functions; environments are immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "cel/value.h"
#include "json/value.h"
#include "kube_cel/compiler.h"
#include "kube_cel/evaluation.h"

namespace portcullis::kube_cel {

// The environment of the rules of one schema node: `self` and `oldSelf` (places of Input::kObject
// and Input::kOldObject). `is_resource`: the node has apiVersion, kind and metadata of its own.
std::shared_ptr<const ScopeEnvironment> MakeRuleEnvironment(json::Value props, bool is_resource,
                                                            bool optional_old_self);

// The value as an expression sees it: times, durations and bytes as such, names escaped.
cel::Value RuleValue(json::Arena& arena, json::Value props, json::Value value);

// "a-b" as the field `a__dash__b`; "" if it cannot be a field.
std::string EscapeFieldName(std::string_view name);

// The most that one evaluation of the expression can cost. REQUIRES: it compiles.
std::uint64_t EstimateRuleCost(const ScopeEnvironment& scope, json::Value props,
                               std::string_view rule);
// How many elements a list or map can have at most.
std::uint64_t MaxElements(json::Value props);

}  // namespace portcullis::kube_cel
