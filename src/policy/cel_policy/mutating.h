// SPDX-License-Identifier: Apache-2.0

// MutatingAdmissionPolicies changing one request's object.
#pragma once

#include "admission/request.h"
#include "base/status.h"
#include "policy/cel_policy/policy_set.h"
#include "policy/cel_policy/validating.h"

namespace portcullis::policy {

// One pass over the policies that match. Replaces the request's object; keeps in the request's
// Reinvocation what a second pass needs.
base::Status DispatchMutating(const PolicyServices& services, const PolicySet& policies,
                              admission::Request& request);

// --- Patches (patches.cc) ---

// What applying one mutation came to: the new object; or an error. `fatal` errors end the request
// whatever the failure policy says.
struct Patched {
  json::Value object;
  base::Status error;
  bool fatal = false;
};

// What a mutation is applied to.
struct Patching {
  json::Arena& arena;    // for the new object
  json::Arena& scratch;  // of the evaluation: the new object refers to nothing in it
  const admission::ObjectInterfaces* objects;  // may be null
  const api::GroupVersionKind& kind;
  json::Value object;
};

// `value` is the result of an ApplyConfiguration expression.
Patched ApplyConfiguration(const Patching& to, cel::Value value);
// `value` is the result of a JSONPatch expression.
Patched ApplyJsonPatch(const Patching& to, cel::Value value);

}  // namespace portcullis::policy
