// SPDX-License-Identifier: Apache-2.0

#include "flow_control/work.h"

#include <cmath>
#include <cstdio>

namespace portcullis::flow_control {
namespace {

constexpr double kScale = 1e8;  // SeatSeconds in one second of one seat

}  // namespace

SeatSeconds SeatsTimesDuration(double seats, base::Duration duration) {
  const double work = seats * static_cast<double>(duration.count()) / (1e9 / kScale);
  return static_cast<SeatSeconds>(std::llround(work));
}

double ToDouble(SeatSeconds work) { return static_cast<double>(work) / kScale; }

base::Duration DurationPerSeat(SeatSeconds work, double seats) {
  const double nanoseconds = static_cast<double>(work) / seats * (1e9 / kScale);
  return base::Duration(static_cast<std::int64_t>(nanoseconds));
}

std::string Format(SeatSeconds work) {
  constexpr auto kUnit = static_cast<SeatSeconds>(kScale);
  char text[40];
  std::snprintf(text, sizeof(text), "%llu.%08lluss", static_cast<unsigned long long>(work / kUnit),
                static_cast<unsigned long long>(work % kUnit));
  return text;
}

}  // namespace portcullis::flow_control
