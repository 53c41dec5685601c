// SPDX-License-Identifier: Apache-2.0

// What a namespace is told when it begins to enforce a stricter policy: which of its pods would
// not be admitted any more.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "policy/pod_security/evaluator.h"

namespace portcullis::policy::pod_security {

struct ExistingPodsLimits {
  std::size_t max_pods = 3000;
  // Asked after each pod; true ends the check.
  std::function<bool()> expired;
};

// The warnings, in order: that not all pods were looked at; that some violate `policy`; one line
// per distinct list of reasons. `pods` are whole Pod objects in the order of the list; pods without
// a controller and the first of each controller are looked at before the other replicas.
std::vector<std::string> WarnAboutExistingPods(const Evaluator& evaluator,
                                               const LevelVersion& policy,
                                               std::string_view namespace_name,
                                               std::vector<json::Value> pods,
                                               const ExistingPodsLimits& limits);

}  // namespace portcullis::policy::pod_security
