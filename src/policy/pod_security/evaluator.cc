// SPDX-License-Identifier: Apache-2.0

#include "policy/pod_security/evaluator.h"

#include <algorithm>

#include "base/strings.h"

namespace portcullis::policy::pod_security {
namespace {

constexpr std::string_view kNoReason = "Not allowed by PodSecurity";

// The row of `check` that holds at `minor`, or null.
const CheckVersion* VersionAt(const Check& check, int minor) {
  const CheckVersion* found = nullptr;
  for (const CheckVersion& version : check.versions) {
    if (version.since_minor <= minor) found = &version;
  }
  return found;
}

std::vector<std::string_view> OverriddenAt(int minor) {
  std::vector<std::string_view> ids;
  for (const Check* check : AllChecks()) {
    if (check->level != Level::kRestricted) continue;
    if (const CheckVersion* version = VersionAt(*check, minor)) {
      ids.insert(ids.end(), version->overrides.begin(), version->overrides.end());
    }
  }
  return ids;
}

}  // namespace

std::string Verdict::Detail() const {
  std::string out;
  for (const CheckResult& failure : failures) {
    if (!out.empty()) out += ", ";
    out += failure.reason.empty() ? kNoReason : std::string_view(failure.reason);
    if (!failure.detail.empty()) out += base::StrCat(" (", failure.detail, ")");
  }
  return out;
}

std::string Verdict::Reasons() const {
  std::string out;
  for (const CheckResult& failure : failures) {
    if (!out.empty()) out += ", ";
    out += failure.reason.empty() ? kNoReason : std::string_view(failure.reason);
  }
  return out;
}

Evaluator::Evaluator(int newest_minor) : newest_minor_(std::clamp(newest_minor, 0, kNewestMinor)) {
  for (int minor = 0; minor <= newest_minor_; ++minor) {
    const std::vector<std::string_view> overridden = OverriddenAt(minor);
    Functions baseline;
    Functions restricted;
    for (const Check* check : AllChecks()) {
      const CheckVersion* version = VersionAt(*check, minor);
      if (version == nullptr) continue;
      if (check->level == Level::kBaseline) baseline.push_back(version->function);
      if (std::find(overridden.begin(), overridden.end(), check->id) == overridden.end()) {
        restricted.push_back(version->function);
      }
    }
    baseline_.push_back(std::move(baseline));
    restricted_.push_back(std::move(restricted));
  }
}

Verdict Evaluator::Evaluate(const LevelVersion& policy, const PodView& pod) const {
  Verdict verdict;
  if (policy.level == Level::kPrivileged) return verdict;
  const int minor =
      policy.version.latest ? newest_minor_ : std::min(policy.version.minor, newest_minor_);
  const auto& by_minor = policy.level == Level::kBaseline ? baseline_ : restricted_;
  for (const auto& function : by_minor[static_cast<std::size_t>(minor)]) {
    CheckResult result = function(pod);
    if (!result.allowed) verdict.failures.push_back(std::move(result));
  }
  return verdict;
}

}  // namespace portcullis::policy::pod_security
