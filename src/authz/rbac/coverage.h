// SPDX-License-Identifier: Apache-2.0

// Coverage: what of some rules other rules do not contain. Rules are compared by single permissions
// (one group, resource, verb and name each), of which a rule has as many as the product of its lists.
//
// Source: k8s.io/component-helpers/auth/rbac/validation, Covers. There the work is the product of
// all lists of both sides; here the rules that may contain a permission are found by index, and
// there is a limit.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "authz/rbac/policy_rule.h"
#include "base/status.h"

namespace portcullis::authz::rbac {

// Comparisons of one permission with one rule that Uncovered() makes at most: some tenths of a
// second.
inline constexpr std::size_t kMostComparisons = 2'000'000;
// Permissions that it names at most.
inline constexpr std::size_t kMostMissing = 20'000;

// The permissions of `wanted` that `owned` does not contain, in the order of `wanted` and no more than
// kMostMissing; empty if everything is covered. kForbidden if that takes more than kMostComparisons.
base::Result<std::vector<PolicyRule>> Uncovered(std::span<const PolicyRule> owned,
                                                std::span<const PolicyRule> wanted);

// Joins the verbs of rules that are alike otherwise.
std::vector<PolicyRule> Compact(const std::vector<PolicyRule>& rules);

}  // namespace portcullis::authz::rbac
