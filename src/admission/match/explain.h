// SPDX-License-Identifier: Apache-2.0

// Why rules do not match a request: the slow counterpart of RuleIndex, for traces.
#pragma once

#include <span>

#include "admission/match/rule_index.h"
#include "admission/request.h"
#include "admission/trace/trace.h"
#include "api/selector/label_selector.h"

namespace portcullis::admission::match {

// Matches if RuleIndex finds the target of these rules. Else the reason is kMatchPolicy if they
// match one of `equivalents` (see RuleIndex::Find) and `policy` is Exact, or kRules; the message
// says of each rule what it lacks.
Mismatch ExplainRules(std::span<const Rule> rules, MatchPolicy policy, const Request& request,
                      std::span<const api::GroupVersionResource> equivalents);

// The messages for selectors that do not match.
Mismatch NamespaceMismatch(const api::LabelSelector& selector, std::string_view namespace_name,
                           json::Value labels);
Mismatch ObjectMismatch(const api::LabelSelector& selector, const Request& request,
                        json::Value object);

}  // namespace portcullis::admission::match
