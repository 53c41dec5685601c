// SPDX-License-Identifier: Apache-2.0

// One queue of a QueueSet, which guards it; private to it.
#pragma once

#include <cstdint>

#include "flow_control/ticket.h"
#include "flow_control/work.h"

namespace portcullis::flow_control {

struct Queue {
  explicit Queue(int its_index) : index(its_index) {}

  bool active() const { return waiting.size > 0 || executing.size > 0; }

  const int index;
  TicketList waiting;
  TicketList executing;
  SeatSeconds next_dispatch_r = 0;
  int seats_in_use = 0;
  bool was_active = false;
  // Sums over `waiting`.
  std::uint64_t initial_seats = 0;
  std::uint64_t max_seats = 0;
  SeatSeconds total_work = 0;
};

}  // namespace portcullis::flow_control
