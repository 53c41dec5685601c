// SPDX-License-Identifier: Apache-2.0

// Evaluator asks all checks of a level and version about a pod. The library entry of the Pod
// Security Standards: it needs no server.
//
//   pod_security::Evaluator evaluator;
//   Verdict verdict = evaluator.Evaluate({Level::kRestricted, {}}, {pod["metadata"], pod["spec"]});
//   if (!verdict.allowed()) std::cout << verdict.Detail();
#pragma once

#include <string>
#include <vector>

#include "policy/pod_security/check.h"
#include "policy/pod_security/level.h"

namespace portcullis::policy::pod_security {

// The newest minor version for which the standards are known here. A server of release v1.N goes by
// those of v1.(N-1), as the standards of a release are settled after it.
inline constexpr int kNewestMinor = 37;

// The failed checks of one evaluation, in the order of the checks.
struct Verdict {
  std::vector<CheckResult> failures;

  bool allowed() const { return failures.empty(); }
  // `reason (detail), reason (detail)`
  std::string Detail() const;
  // `reason, reason`
  std::string Reasons() const;
};

// Immutable after construction.
class Evaluator {
 public:
  // Versions above `newest_minor`, and latest, are evaluated at `newest_minor`.
  explicit Evaluator(int newest_minor = kNewestMinor);

  Verdict Evaluate(const LevelVersion& policy, const PodView& pod) const;
  int newest_minor() const { return newest_minor_; }

 private:
  using Functions = std::vector<CheckResult (*)(const PodView& pod)>;

  int newest_minor_;
  std::vector<Functions> baseline_;    // by minor
  std::vector<Functions> restricted_;  // by minor
};

}  // namespace portcullis::policy::pod_security
