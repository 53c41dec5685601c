// SPDX-License-Identifier: Apache-2.0

// The counters pod_security_evaluations_total, …_exemptions_total and …_errors_total.
#pragma once

#include <string_view>

#include "admission/request.h"
#include "metrics/metrics.h"
#include "policy/pod_security/level.h"
#include "release/release.h"

namespace portcullis::plugins::pod_security {

// Thread-safe.
class PodSecurityMetrics {
 public:
  // Versions above the release are counted as "future".
  PodSecurityMetrics(metrics::Registry& registry, const release::Release& release);

  void CountEvaluation(const admission::Request& request,
                       const policy::pod_security::LevelVersion& policy, std::string_view mode,
                       bool allowed);
  void CountExemption(const admission::Request& request);
  void CountError(const admission::Request& request, bool fatal);

 private:
  const release::Release& release_;
  metrics::Family<metrics::Counter>& evaluations_;
  metrics::Family<metrics::Counter>& exemptions_;
  metrics::Family<metrics::Counter>& errors_;
};

}  // namespace portcullis::plugins::pod_security
