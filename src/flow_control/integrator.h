// SPDX-License-Identifier: Apache-2.0

// Integrator tells the average, the deviation and the extremes of a number that changes over time
// (k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing, Integrator). Confined to one thread or lock.
#pragma once

#include "base/clock.h"

namespace portcullis::flow_control {

struct IntegratorResults {
  double seconds = 0;    // over which it was observed
  double average = 0;    // weighted by time; NaN if no time has passed
  double deviation = 0;  // likewise; NaN if rounding has made the variance negative
  double min = 0;
  double max = 0;
};

class Integrator {
 public:
  explicit Integrator(base::SteadyTime start) : last_(start) {}

  // From `now` on the number is `value`.
  void Set(double value, base::SteadyTime now);
  // What was seen since the last Reset(), and begins anew.
  IntegratorResults Reset(base::SteadyTime now);

 private:
  void Advance(base::SteadyTime now);

  base::SteadyTime last_;
  double value_ = 0;
  double min_ = 0;
  double max_ = 0;
  double seconds_ = 0;
  double sum_ = 0;      // of value by time
  double squares_ = 0;  // of value squared by time
};

}  // namespace portcullis::flow_control
