// SPDX-License-Identifier: Apache-2.0

// What a LimitRange forbids. Each function returns the violations, one sentence each.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"

namespace portcullis::plugins::limit_ranger {

// `pod_level`: pod-level cpu and memory take the place of the containers' sum.
std::vector<std::string> PodViolations(json::Value limit_range, json::Value pod, bool pod_level);
std::vector<std::string> ClaimViolations(json::Value limit_range, json::Value claim);

}  // namespace portcullis::plugins::limit_ranger
