// SPDX-License-Identifier: Apache-2.0

// Type checking of ValidatingAdmissionPolicies: what the schemas of the kinds that a policy names
// say about its expressions. The findings are warnings in `status.typeChecking` and change nothing
// (https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/#type-checking).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

// An expression whose estimate exceeds what it may cost for objects of some size.
struct CostlyExpression {
  std::vector<std::string> steps;  // {"spec", "validations", "0", "expression"}
  std::string kind;
  std::uint64_t object_bytes = 0;  // the smallest size found, a power of two
};

// Those of a v1 policy of either type that may cost more than `limit` for an object of at most `most_bytes`.
// Estimated as Kubernetes estimates rules of custom resources, but for an object whose bytes are all spent on
// the lists, maps and texts that the expression reads; each nested list has its share of them. Of wildcards,
// parameters and unknown kinds nothing is estimated.
std::vector<CostlyExpression> EstimateCosts(Compiler& compiler,
                                            const api::catalog::Catalog& catalog,
                                            json::Value policy, std::uint64_t limit,
                                            std::uint64_t most_bytes);

// The policy with the findings, and the generation they are about, in its status.
json::Value WithTypeChecking(json::Arena& arena, Compiler& compiler,
                             const api::catalog::Catalog& catalog, json::Value policy);

// Whether the status is about an older generation.
bool NeedsTypeChecking(json::Value policy);

}  // namespace portcullis::kube_cel
