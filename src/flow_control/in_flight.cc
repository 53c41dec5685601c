// SPDX-License-Identifier: Apache-2.0

#include "flow_control/in_flight.h"

#include <algorithm>

namespace portcullis::flow_control {
namespace {

constexpr std::string_view kPhases[] = {"waiting", "executing"};
constexpr std::string_view kSharedKinds[] = {"readOnly", "mutating"};

}  // namespace

InFlight::InFlight(metrics::Registry& registry, Instruments& instruments, const base::Clock& clock)
    : clock_(clock),
      in_flight_(registry.AddGauge({"apiserver_current_inflight_requests",
                                    "Maximal number of currently used inflight request limit of "
                                    "this apiserver per request kind in last second.",
                                    metrics::Stability::kStable},
                                   {"request_kind"})),
      in_queue_(registry.AddGauge({"apiserver_current_inqueue_requests",
                                   "Maximal number of queued requests in this apiserver per "
                                   "request kind in last second."},
                                  {"request_kind"})),
      lanes_{{{MakeLane(instruments, Phase::kWaiting, RequestKind::kReadOnly),
               MakeLane(instruments, Phase::kWaiting, RequestKind::kMutating)},
              {MakeLane(instruments, Phase::kExecuting, RequestKind::kReadOnly),
               MakeLane(instruments, Phase::kExecuting, RequestKind::kMutating)}}} {}

InFlight::Lane InFlight::MakeLane(Instruments& instruments, Phase phase, RequestKind kind) const {
  metrics::Histogram& histogram = instruments.read_vs_write.With(
      {kPhases[static_cast<std::size_t>(phase)], kSharedKinds[static_cast<std::size_t>(kind)]});
  return {0, 0, 0, TimedRatio(histogram, clock_.Steady())};
}

void InFlight::Turn(base::SteadyTime now) {
  const std::int64_t second =
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  if (second <= second_) return;
  for (auto& phase : lanes_) {
    for (Lane& lane : phase) {
      // In seconds without any change there were as many as now.
      lane.last_second = second == second_ + 1 ? lane.highest : lane.now;
      lane.highest = lane.now;
    }
  }
  second_ = second;
}

void InFlight::Add(Phase phase, RequestKind kind, int delta, base::SteadyTime now) {
  const base::MutexLock lock(mutex_);
  Turn(now);
  Lane& lane = At(phase, kind);
  lane.now += delta;
  lane.highest = std::max(lane.highest, lane.now);
  lane.use.Set(lane.now, now);
}

void InFlight::SetLimit(Phase phase, RequestKind kind, double limit) {
  const base::SteadyTime now = clock_.Steady();
  const base::MutexLock lock(mutex_);
  At(phase, kind).use.SetDenominator(std::max(1.0, limit), now);
}

void InFlight::Publish() {
  const base::SteadyTime now = clock_.Steady();
  const base::MutexLock lock(mutex_);
  Turn(now);
  for (std::size_t kind = 0; kind < 2; ++kind) {
    in_queue_.With({kSharedKinds[kind]}).Set(lanes_[0][kind].last_second);
    in_flight_.With({kSharedKinds[kind]}).Set(lanes_[1][kind].last_second);
    lanes_[0][kind].use.Flush(now);
    lanes_[1][kind].use.Flush(now);
  }
}

}  // namespace portcullis::flow_control
