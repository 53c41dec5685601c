// SPDX-License-Identifier: Apache-2.0

// A check of the Pod Security Standards: data (id, level, versions) and one pure function per
// version, from the pod's metadata and spec in v1 form to a verdict.
//
// Each check is a file pair below checks/ with one exported constant; checks.cc lists them. A new
// version of a check is a new row with a new function; old functions never change.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "json/value.h"
#include "policy/pod_security/level.h"

namespace portcullis::policy::pod_security {

// What a check may look at: a pod's, or a pod template's, metadata and spec.
struct PodView {
  json::Value metadata;
  json::Value spec;
};

struct CheckResult {
  bool allowed = true;
  std::string reason;  // "hostPort"; empty if allowed
  std::string detail;  // `container "a" uses hostPort 80`
};

inline CheckResult Allow() { return {}; }
inline CheckResult Deny(std::string_view reason, std::string detail) {
  return {false, std::string(reason), std::move(detail)};
}

// One version of a check: holds from v1.<since_minor> until the next row.
struct CheckVersion {
  int since_minor;
  CheckResult (*function)(const PodView& pod);
  // Baseline checks that a restricted check makes superfluous at this version.
  std::span<const std::string_view> overrides = {};
};

struct Check {
  std::string_view id;
  Level level;                             // kBaseline or kRestricted
  std::span<const CheckVersion> versions;  // ascending
};

// All checks: baseline ones sorted by id, then restricted ones sorted by id.
std::span<const Check* const> AllChecks();

}  // namespace portcullis::policy::pod_security
