// SPDX-License-Identifier: Apache-2.0

// Rules in the schemas of custom resources (x-kubernetes-validations): the types an expression
// sees, the values it is given, and what it may cost at most.
//
// A schema is a JSONSchemaProps object. Pure functions; environments are immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
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

// The value as an expression sees it: times, durations and bytes as such, names escaped, lists
// equal and joined by their x-kubernetes-list-type. What does not fit its schema is an error value.
// Parts are made when they are asked for; `value` and `props` outlive the result.
cel::Value RuleValue(json::Arena& arena, json::Value props, bool is_resource, json::Value value);

// "a-b" as the field `a__dash__b`; "" if it cannot be a field.
std::string EscapeFieldName(std::string_view name);
// "a__dash__b" as the property `a-b`; nothing if no property has that field.
std::optional<std::string> UnescapeFieldName(std::string_view name);

// The most that one evaluation of a rule or message can cost. REQUIRES: it compiles.
std::uint64_t EstimateRuleCost(const ScopeEnvironment& scope, json::Value props, bool is_resource,
                               std::string_view expression);

}  // namespace portcullis::kube_cel
