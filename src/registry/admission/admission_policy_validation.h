// SPDX-License-Identifier: Apache-2.0

// Validation of ValidatingAdmissionPolicy, MutatingAdmissionPolicy and their bindings, with the
// order and the texts of kube-apiserver (k8s.io/kubernetes/pkg/apis/admissionregistration/
// validation). Pure functions.
#pragma once

#include <cstdint>

#include "api/field_error.h"
#include "json/value.h"
#include "registry/expression_checker.h"

namespace portcullis::registry {

enum class PolicyKind : std::uint8_t { kValidating, kMutating };

// `expressions` may be null: nothing is compiled then. `old` is null for a new policy.
void ValidateAdmissionPolicy(json::Value object, json::Value old, PolicyKind kind,
                             const ExpressionChecker* expressions, api::FieldErrors& errors);
// The status of a ValidatingAdmissionPolicy.
void ValidatePolicyStatus(json::Value status, api::FieldErrors& errors);
void ValidateAdmissionPolicyBinding(json::Value object, PolicyKind kind, api::FieldErrors& errors);

}  // namespace portcullis::registry
