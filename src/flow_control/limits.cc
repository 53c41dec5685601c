// SPDX-License-Identifier: Apache-2.0

#include "flow_control/limits.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/log.h"
#include "flow_control/concurrency_allocation.h"

namespace portcullis::flow_control {
namespace {

constexpr double kSmoothing = 0.977;  // per adjustment, each ten seconds
constexpr double kMaxSeatsPart = 0.15;

int Percent(int whole, int percent) {
  return static_cast<int>(std::lround(static_cast<double>(whole) * percent / 100));
}

// What a level has at least until the next adjustment.
int Floor(const LevelLimits& level) {
  const int wanted = level.demand.high_watermark;
  return std::max(level.lower, level.exempt ? wanted : std::min(level.nominal, wanted));
}

}  // namespace

void SeatDemand::Update(const IntegratorResults& results) {
  high_watermark = static_cast<int>(std::lround(results.max));
  if (results.seconds <= 0) return;
  average = results.average;
  deviation = std::isnan(results.deviation) ? 0 : results.deviation;
  const double envelope = average + deviation;
  smoothed = std::max(envelope, kSmoothing * smoothed + (1 - kSmoothing) * envelope);
}

void SetConfiguredLimits(const LevelSpec& spec, int server_seats, double share_sum,
                         LevelLimits& limits) {
  limits.exempt = spec.exempt;
  const double part = share_sum > 0 ? spec.shares / share_sum : 0;
  limits.nominal = static_cast<int>(std::ceil(server_seats * part));
  limits.lower = limits.nominal - Percent(limits.nominal, spec.lendable_percent);
  limits.upper = limits.nominal + (spec.borrowing_limit_percent
                                       ? Percent(limits.nominal, *spec.borrowing_limit_percent)
                                       : server_seats);
}

std::uint64_t MaxSeatsOf(const LevelSpec& spec, const LevelLimits& limits) {
  if (spec.queues <= 0) return 0;
  const double part = std::ceil(limits.nominal * kMaxSeatsPart);
  return static_cast<std::uint64_t>(
      std::max(1.0, std::min(part, static_cast<double>(limits.nominal / spec.hand_size))));
}

double Borrow(std::span<LevelLimits* const> levels) {
  std::vector<LevelLimits*> limited;
  std::vector<SeatClaim> claims;
  int total = 0;
  int left = 0;  // for those that are limited
  int lower_sum = 0;
  int floor_sum = 0;
  for (LevelLimits* level : levels) total += level->nominal;
  left = total;
  for (LevelLimits* level : levels) {
    const int floor = Floor(*level);
    level->target = std::max(static_cast<double>(floor), level->demand.smoothed);
    if (level->exempt) {
      level->current = floor;
      left -= floor;
      continue;
    }
    limited.push_back(level);
    claims.push_back({level->target, static_cast<double>(floor),
                      static_cast<double>(std::max(floor, level->upper))});
    lower_sum += level->lower;
    floor_sum += floor;
  }
  if (left <= lower_sum) {
    for (LevelLimits* level : limited) level->current = level->lower;
    return 0;
  }
  if (left <= floor_sum) {
    const double part = static_cast<double>(left - lower_sum) / (floor_sum - lower_sum);
    for (LevelLimits* level : limited) {
      level->current =
          level->lower + static_cast<int>(std::lround((Floor(*level) - level->lower) * part));
    }
    return 0;
  }
  const auto shares = AllocateSeats(total, claims);
  if (!shares.ok()) {
    base::LogWarning("the seats of priority levels stay as they are",
                     {{"error", shares.status().message()}});
    return 0;
  }
  for (std::size_t i = 0; i < limited.size(); ++i) {
    limited[i]->current = static_cast<int>(std::lround(shares->seats[i]));
  }
  return shares->fair_fraction;
}

}  // namespace portcullis::flow_control
