// SPDX-License-Identifier: Apache-2.0

// Levels and versions of the Pod Security Standards, and the policy a namespace asks for.
//
// Value types. The texts follow Kubernetes docs, "Pod Security Standards" and "Pod Security
// Admission": levels privileged, baseline, restricted; versions "latest" and "v1.<minor>".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace portcullis::policy::pod_security {

// In order of strictness.
enum class Level : std::uint8_t { kPrivileged, kBaseline, kRestricted };

std::string_view LevelText(Level level);
std::optional<Level> ParseLevel(std::string_view text);

// A version of the standards; the default is "latest".
struct Version {
  bool latest = true;
  int minor = 0;  // of "v1.<minor>"; 0 for latest
  bool operator==(const Version&) const = default;
};

std::string VersionText(Version version);
// Accepts "latest" and "v1.N" without leading zeros.
std::optional<Version> ParseVersion(std::string_view text);

struct LevelVersion {
  Level level = Level::kPrivileged;
  Version version;
  bool operator==(const LevelVersion&) const = default;
};

// "restricted:latest", "baseline:v1.22".
std::string LevelVersionText(const LevelVersion& value);
// Two privileged policies are equivalent whatever their versions.
bool Equivalent(const LevelVersion& a, const LevelVersion& b);

// What is done with pods of one namespace.
struct Policy {
  LevelVersion enforce;
  LevelVersion audit;
  LevelVersion warn;
  bool operator==(const Policy&) const = default;

  bool fully_privileged() const {
    return enforce.level == Level::kPrivileged && audit.level == Level::kPrivileged &&
           warn.level == Level::kPrivileged;
  }
};

inline constexpr std::string_view kEnforceLabel = "pod-security.kubernetes.io/enforce";
inline constexpr std::string_view kEnforceVersionLabel =
    "pod-security.kubernetes.io/enforce-version";
inline constexpr std::string_view kAuditLabel = "pod-security.kubernetes.io/audit";
inline constexpr std::string_view kAuditVersionLabel = "pod-security.kubernetes.io/audit-version";
inline constexpr std::string_view kWarnLabel = "pod-security.kubernetes.io/warn";
inline constexpr std::string_view kWarnVersionLabel = "pod-security.kubernetes.io/warn-version";

inline constexpr std::string_view kBadLevel = "must be one of privileged, baseline, restricted";
inline constexpr std::string_view kBadVersion = "must be \"latest\" or \"v1.x\"";

// A label whose value is no level or version.
struct LabelError {
  std::string_view label;  // one of the label constants
  std::string value;
  std::string_view problem;  // kBadLevel or kBadVersion
  bool operator==(const LabelError&) const = default;

  std::string field() const;    // metadata.labels[<label>]
  std::string message() const;  // Invalid value: "<value>": <problem>
};

struct ResolvedPolicy {
  Policy policy;
  std::vector<LabelError> errors;
};

// The policy that `labels` (an object of strings, or null) ask for, starting from `defaults`. A bad
// enforce level fails closed (restricted), bad audit and warn levels fail open (privileged).
// Without a warn label, a namespace is warned at the level it enforces.
ResolvedPolicy ResolvePolicy(json::Value labels, const Policy& defaults);

// The errors as Kubernetes aggregates them: one as it is, several as "[a, b]".
std::string LabelErrorsText(const std::vector<LabelError>& errors);

}  // namespace portcullis::policy::pod_security
