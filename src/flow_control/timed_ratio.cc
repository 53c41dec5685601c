// SPDX-License-Identifier: Apache-2.0

#include "flow_control/timed_ratio.h"

namespace portcullis::flow_control {

void TimedRatio::SetDenominator(double denominator, base::SteadyTime now) {
  if (denominator == denominator_) return;
  Flush(now);
  denominator_ = denominator;
}

void TimedRatio::Flush(base::SteadyTime now) {
  Advance(now);
  for (std::size_t numerator = 0; numerator < nanoseconds_.size(); ++numerator) {
    if (nanoseconds_[numerator] == 0) continue;
    histogram_.Observe(static_cast<double>(numerator) / denominator_, nanoseconds_[numerator]);
    nanoseconds_[numerator] = 0;
  }
}

}  // namespace portcullis::flow_control
