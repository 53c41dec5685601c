// SPDX-License-Identifier: Apache-2.0

// Type checking of ValidatingAdmissionPolicies: what the schemas of the kinds that a policy names
// say about its expressions. The findings are warnings in `status.typeChecking` and change nothing
// (https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/#type-checking).
#pragma once

#include "api/catalog/catalog.h"
#include "json/value.h"
#include "kube_cel/compiler.h"

namespace portcullis::kube_cel {

// Who owns what is written of it: the controller of Kubernetes.
inline constexpr std::string_view kTypeCheckingManager = "validatingadmissionpolicy-status";

// The list `status.typeChecking.expressionWarnings` of a v1 policy; empty if all is well. Kinds are
// those that the rules name without wildcards, at most ten for a rule, in order of group, version
// and kind; `catalog` tells their schemas.
json::Value CheckPolicyTypes(json::Arena& arena, Compiler& compiler,
                             const api::catalog::Catalog& catalog, json::Value policy);

// The policy with the findings, and the generation they are about, in its status.
json::Value WithTypeChecking(json::Arena& arena, Compiler& compiler,
                             const api::catalog::Catalog& catalog, json::Value policy);

// Whether the status is about an older generation.
bool NeedsTypeChecking(json::Value policy);

}  // namespace portcullis::kube_cel
