// SPDX-License-Identifier: Apache-2.0

// How many seats each priority level has: a nominal share of the server's, from which it lends what
// it does not use, and to which it borrows (k8s.io/apiserver/pkg/util/flowcontrol,
// finishQueueSetReconfigsLocked and updateBorrowingLocked). Value types and pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "flow_control/configuration.h"
#include "flow_control/integrator.h"

namespace portcullis::flow_control {

// What a level has lately asked for.
struct SeatDemand {
  double average = 0;
  double deviation = 0;
  double smoothed = 0;  // falls by half in five minutes
  int high_watermark = 0;

  void Update(const IntegratorResults& results);
};

struct LevelLimits {
  bool exempt = false;
  int nominal = 0;
  int lower = 0;  // what it keeps in any case
  int upper = 0;  // what it has at most
  int current = 0;
  double target = 0;  // what the current limit aims at
  SeatDemand demand;
};

// The nominal, lower and upper limit of a level whose shares are among `share_sum`.
void SetConfiguredLimits(const LevelSpec& spec, int server_seats, double share_sum,
                         LevelLimits& limits);

// The widest request of the level that the estimator may foresee; 0: the estimator's own maximum.
std::uint64_t MaxSeatsOf(const LevelSpec& spec, const LevelLimits& limits);

// Sets the current limits of all levels by what they have asked for. Returns the fair fraction: a
// level has its target times this, within its bounds.
double Borrow(std::span<LevelLimits* const> levels);

}  // namespace portcullis::flow_control
