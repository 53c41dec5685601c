// SPDX-License-Identifier: Apache-2.0

// A claim's share grows with the fair fraction while it is between the claim's bounds divided by
// its target, and is constant outside. The sum of the shares is therefore a growing, piecewise
// linear function of the fraction; what is wanted is the fraction at which it is the total. It is
// found by walking through the bounds in ascending order.

#include "flow_control/concurrency_allocation.h"

#include <algorithm>

#include "base/strings.h"

namespace portcullis::flow_control {
namespace {

constexpr double kMinTarget = 0.001;  // smaller ones count as this
constexpr double kEpsilon = 0.0000001;

// A fraction at which a claim begins or ceases to grow.
struct Bound {
  double fraction = 0;
  double slope = 0;  // what the sum's slope changes by there
};

base::Status Check(int total, std::span<const SeatClaim> claims) {
  if (total < 0) return base::InternalError("negative sums are not supported");
  double lower = 0;
  double upper = 0;
  for (const SeatClaim& claim : claims) {
    if (claim.lower < 0 || claim.target < claim.lower || claim.upper < claim.lower) {
      return base::InternalError("a lower bound is negative, or above its target or upper bound");
    }
    lower += claim.lower;
    upper += claim.upper;
  }
  if (lower - total > kEpsilon) {
    return base::InternalError(base::StrCat("lower bounds sum to ", std::to_string(lower),
                                            ", more than the ", std::to_string(total), " seats"));
  }
  if (total - upper > kEpsilon) {
    return base::InternalError(base::StrCat("upper bounds sum to ", std::to_string(upper),
                                            ", less than the ", std::to_string(total), " seats"));
  }
  return base::OkStatus();
}

// The fraction at which the shares sum to `total`; between the sums of both bounds.
double SolveFraction(double total, std::span<const SeatClaim> claims) {
  std::vector<Bound> bounds;
  double sum = 0;
  for (const SeatClaim& claim : claims) {
    const double target = std::max(claim.target, kMinTarget);
    bounds.push_back({claim.lower / target, target});
    bounds.push_back({claim.upper / target, -target});
    sum += claim.lower;
  }
  std::sort(bounds.begin(), bounds.end(),
            [](const Bound& a, const Bound& b) { return a.fraction < b.fraction; });
  double fraction = bounds.empty() ? 0 : bounds.front().fraction;
  double slope = 0;
  for (const Bound& bound : bounds) {
    const double grown = (bound.fraction - fraction) * slope;
    if (sum + grown >= total) {
      return slope > 0 ? std::min(bound.fraction, fraction + (total - sum) / slope) : fraction;
    }
    sum += grown;
    fraction = bound.fraction;
    slope += bound.slope;
  }
  return fraction;
}

}  // namespace

base::Result<SeatShares> AllocateSeats(int total, std::span<const SeatClaim> claims) {
  TRY(Check(total, claims));
  SeatShares shares;
  shares.seats.resize(claims.size());
  if (total == 0) return shares;
  shares.fair_fraction = SolveFraction(total, claims);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const double fair = shares.fair_fraction * std::max(claims[i].target, kMinTarget);
    shares.seats[i] = std::max(claims[i].lower, std::min(claims[i].upper, fair));
  }
  return shares;
}

}  // namespace portcullis::flow_control
