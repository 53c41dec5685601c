// SPDX-License-Identifier: Apache-2.0

// InFlight counts the requests that wait and that execute, reads and writes apart, and tells the
// metrics of the highest number of the last second
// (k8s.io/apiserver/pkg/server/filters, requestWatermark). Thread-safe.
#pragma once

#include <array>
#include <cstdint>

#include "base/clock.h"
#include "base/mutex.h"
#include "flow_control/instruments.h"
#include "flow_control/request_kind.h"
#include "flow_control/timed_ratio.h"

namespace portcullis::flow_control {

enum class Phase : std::uint8_t { kWaiting, kExecuting };

class InFlight {
 public:
  // All outlive it.
  InFlight(metrics::Registry& registry, Instruments& instruments, const base::Clock& clock);

  void Add(Phase phase, RequestKind kind, int delta, base::SteadyTime now);
  // How many there are at most; 1 unless SetLimit() is called.
  void SetLimit(Phase phase, RequestKind kind, double limit);
  void Publish();

 private:
  struct Lane {
    int now = 0;
    int highest = 0;      // since `second` began
    int last_second = 0;  // the highest before
    TimedRatio use;
  };
  Lane MakeLane(Instruments& instruments, Phase phase, RequestKind kind) const;
  Lane& At(Phase phase, RequestKind kind) PC_REQUIRES(mutex_) {
    return lanes_[static_cast<std::size_t>(phase)][static_cast<std::size_t>(kind)];
  }
  void Turn(base::SteadyTime now) PC_REQUIRES(mutex_);

  const base::Clock& clock_;
  metrics::Family<metrics::Gauge>& in_flight_;
  metrics::Family<metrics::Gauge>& in_queue_;
  base::Mutex mutex_;
  std::int64_t second_ PC_GUARDED_BY(mutex_) = 0;
  std::array<std::array<Lane, 2>, 2> lanes_ PC_GUARDED_BY(mutex_);
};

}  // namespace portcullis::flow_control
