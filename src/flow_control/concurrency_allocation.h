// SPDX-License-Identifier: Apache-2.0

// How the server's seats are divided among priority levels that lend and borrow
// (k8s.io/apiserver/pkg/util/flowcontrol, conc_alloc.go; KEP-1040, "Dispatching").
#pragma once

#include <span>
#include <vector>

#include "base/status.h"

namespace portcullis::flow_control {

// One priority level. REQUIRES: 0 <= lower <= target, lower <= upper.
struct SeatClaim {
  double target = 0;  // what it could use
  double lower = 0;
  double upper = 0;
};

struct SeatShares {
  std::vector<double> seats;  // one per claim
  // Each claim has its target times this, or the bound that this would cross.
  double fair_fraction = 0;
};

// Divides `total` seats; the shares sum to it. An error says why that is impossible.
base::Result<SeatShares> AllocateSeats(int total, std::span<const SeatClaim> claims);

}  // namespace portcullis::flow_control
