// SPDX-License-Identifier: Apache-2.0

// ValidatingAdmissionPolicies judging one request: matching, parameters, evaluation, decisions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "admission/object_interfaces.h"
#include "admission/request.h"
#include "base/clock.h"
#include "metrics/apiserver_metrics.h"
#include "policy/cel_policy/policy_set.h"
#include "policy/cel_policy/request_inputs.h"

namespace portcullis::policy {

// What policies work with. Pointers may be null except clock; they outlive the dispatch.
struct PolicyServices {
  const admission::ObjectInterfaces* objects = nullptr;
  const store::Reader* reader = nullptr;
  const authz::Authorizer* authorizer = nullptr;
  const base::Clock* clock = nullptr;
  metrics::PolicyMetrics* metrics = nullptr;
  metrics::AdmissionMetrics* condition_metrics = nullptr;

  // When a step of judging begins: see base::Fiber::BeginStep(), which it is one of.
  base::SteadyTime BeginStep() const;
};

// One expression's outcome.
struct Decision {
  enum class Kind : std::uint8_t { kAdmit, kDeny };
  Kind kind = Kind::kAdmit;
  bool is_error = false;  // the expression failed; kind follows the failure policy
  std::string message;
  std::string reason;
  std::size_t index = 0;
  base::Duration elapsed{};
};

// What evaluating one policy with one parameter came to; the same for all bindings with equal
// inputs.
struct Verdict {
  bool applies = true;          // false: the match conditions rule the request out
  std::string unmet_condition;  // then: the one that is false, or
  std::string unmet_error;      // the error that is passed over
  std::vector<Decision> decisions;
  struct AuditValue {
    std::string key;
    std::string value;  // "" is not published
    std::string error;
  };
  std::vector<AuditValue> audit_values;
  std::uint64_t cost = 0;  // of all expressions
};

// `inputs` with params set.
Verdict EvaluatePolicy(const PolicyServices& services, const Policy& policy, RequestInputs& request,
                       const Matched& matched, json::Value param);

// All policies in force. OK, or the refusal.
base::Status DispatchValidating(const PolicyServices& services, const PolicySet& policies,
                                const admission::Request& request);

}  // namespace portcullis::policy
