// SPDX-License-Identifier: Apache-2.0

#include "offline/suites/policy_verdict.h"

#include "base/strings.h"

namespace portcullis::offline {

PolicyVerdict::PolicyVerdict(const std::string& policy, const Result& judged) {
  for (const PolicyStep& step : judged.policies) {
    if (step.policy == policy) Add(step);
  }
  for (const Failure& failure : judged.failures) {
    if (failure.policy == policy) messages_.push_back(failure.message);
  }
  const std::string quoted = base::StrCat("Policy '", policy, "'");
  for (const std::string& warning : judged.warnings) {
    warned_ = warned_ || warning.find(quoted) != std::string::npos;
  }
}

std::string PolicyVerdict::why() const {
  return matched_ || reason_.empty() ? "" : base::StrCat(": ", reason_, ": ", why_);
}

bool PolicyVerdict::Is(Expected expected) const {
  switch (expected) {
    case Expected::kAny:
      return true;
    // An expression that fails denies, too, unless it fails open.
    case Expected::kDeny:
      return denied_ || refused_;
    case Expected::kViolated:
      return denied_ || refused_ || not_enforced_;
    case Expected::kWarn:
      return !denied_ && not_enforced_ && warned_;
    case Expected::kAudit:
      return !denied_ && not_enforced_ && !warned_;
    default:
      return verdict() == expected;
  }
}

Expected PolicyVerdict::verdict() const {
  if (failed_) return Expected::kError;
  if (denied_) return Expected::kDeny;
  if (not_enforced_) return warned_ ? Expected::kWarn : Expected::kAudit;
  return matched_ ? Expected::kAllow : Expected::kSkip;
}

void PolicyVerdict::Add(const PolicyStep& step) {
  using admission::TraceOutcome;
  asked_ = true;
  cost_ += step.cost;
  switch (step.outcome) {
    case TraceOutcome::kSkipped:
      if (reason_.empty()) reason_ = step.reason;
      if (!step.message.empty() && why_.empty()) why_ = step.message;
      return;
    case TraceOutcome::kDenied:
      denied_ = true;
      break;
    case TraceOutcome::kFailed:
      refused_ = true;
      failed_ = true;
      break;
    case TraceOutcome::kFailedOpen:
      failed_ = true;
      break;
    case TraceOutcome::kNotEnforced:
      not_enforced_ = true;
      messages_.push_back(step.message);
      break;
    default:
      break;
  }
  matched_ = true;
}

}  // namespace portcullis::offline
