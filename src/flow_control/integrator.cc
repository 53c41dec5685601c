// SPDX-License-Identifier: Apache-2.0

#include "flow_control/integrator.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace portcullis::flow_control {

void Integrator::Advance(base::SteadyTime now) {
  const double passed = std::chrono::duration<double>(now - last_).count();
  last_ = now;
  seconds_ += passed;
  sum_ += value_ * passed;
  squares_ += value_ * value_ * passed;
}

void Integrator::Set(double value, base::SteadyTime now) {
  Advance(now);
  value_ = value;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
}

IntegratorResults Integrator::Reset(base::SteadyTime now) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  Advance(now);
  IntegratorResults results{seconds_, kNaN, kNaN, min_, max_};
  if (seconds_ > 0) {
    results.average = sum_ / seconds_;
    const double variance = squares_ / seconds_ - results.average * results.average;
    if (variance >= 0) results.deviation = std::sqrt(variance);
  }
  seconds_ = sum_ = squares_ = 0;
  min_ = max_ = value_;
  return results;
}

}  // namespace portcullis::flow_control
