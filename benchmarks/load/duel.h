// SPDX-License-Identifier: Apache-2.0

// Compares two loads that run in turn, in slices so short that what disturbs one disturbs the other.
#pragma once

#include <vector>

#include "runner.h"

namespace portcullis::load {

// A median, and how far it may be off (half of the interval that holds it in 19 of 20 cases).
struct Estimate {
  double value = 0;
  double spread = 0;
};

// Two loads in turn, in short slices: what disturbs one disturbs the other. The ratios (second to
// first) are the medians of those of each two slices that follow one another.
struct Duel {
  Figures first;
  Figures second;
  Estimate cpu;
  Estimate rate;
};
struct Side {
  const Target* target = nullptr;
  MakeRequest make;
};
Duel Alternate(const Side& first, const Side& second, int connections, int rounds = 12,
               double slice_seconds = 0.4);
// The same long enough to tell a ratio of 1.02 from 1.
Duel AlternateOften(const Side& first, const Side& second, int connections);

double Median(std::vector<double> values);
Estimate EstimateMedian(std::vector<double> values);

}  // namespace portcullis::load
