// SPDX-License-Identifier: Apache-2.0

#include "duel.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace portcullis::load {
namespace {

void AddTo(Figures& sum, const Figures& slice) {
  const auto requests = static_cast<double>(slice.requests);
  sum.requests += slice.requests;
  sum.errors += slice.errors;
  if (sum.first_error.empty()) sum.first_error = slice.first_error;
  sum.cpu_milliseconds += slice.cpu_milliseconds * requests;
  sum.requests_per_second += requests / slice.requests_per_second;  // seconds, for now
  sum.latencies.insert(sum.latencies.end(), slice.latencies.begin(), slice.latencies.end());
  sum.memory_megabytes = slice.memory_megabytes;
}

void Finish(Figures& sum) {
  const auto requests = static_cast<double>(std::max<std::size_t>(sum.requests, 1));
  sum.cpu_milliseconds /= requests;
  sum.requests_per_second = requests / sum.requests_per_second;
  SetPercentiles(sum);
}

}  // namespace

Duel Alternate(const Side& first, const Side& second, int connections, int rounds,
               double slice_seconds) {
  // Names of objects go on from slice to slice.
  std::array<std::size_t, 2> base{};
  const std::array<const Side*, 2> sides = {&first, &second};
  const auto slice = [&](std::size_t side, double seconds) {
    const Side& runs = *sides[side];
    const Figures figures = RunLoad(
        *runs.target, {.connections = connections, .warmup_seconds = 0.05, .seconds = seconds},
        [&](std::size_t number) { return runs.make(base[side] + number); });
    base[side] += figures.highest_number;
    return figures;
  };
  slice(0, slice_seconds);
  slice(1, slice_seconds);
  Duel duel;
  std::vector<double> cpu;
  std::vector<double> rate;
  for (int i = 0; i < rounds; ++i) {
    const std::size_t leader = i % 2 == 0 ? 0 : 1;
    std::array<Figures, 2> figures;
    figures[leader] = slice(leader, slice_seconds);
    figures[1 - leader] = slice(1 - leader, slice_seconds);
    cpu.push_back(figures[1].cpu_milliseconds / figures[0].cpu_milliseconds);
    rate.push_back(figures[1].requests_per_second / figures[0].requests_per_second);
    AddTo(duel.first, figures[0]);
    AddTo(duel.second, figures[1]);
  }
  duel.first.highest_number = base[0];
  duel.second.highest_number = base[1];
  Finish(duel.first);
  Finish(duel.second);
  duel.cpu = EstimateMedian(std::move(cpu));
  duel.rate = EstimateMedian(std::move(rate));
  return duel;
}

Duel AlternateOften(const Side& first, const Side& second, int connections) {
  constexpr int kRounds = 80;
  constexpr double kSliceSeconds = 0.15;
  return Alternate(first, second, connections, kRounds, kSliceSeconds);
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Estimate EstimateMedian(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  // Whatever the distribution, the number of values below its median is that of heads in as many
  // throws of a coin.
  const double off = 0.98 * std::sqrt(count);
  const auto at = [&](double rank) {
    return values[static_cast<std::size_t>(std::clamp(std::round(rank), 0.0, count - 1))];
  };
  const double middle = (count - 1) / 2;
  return {values[values.size() / 2], (at(middle + off) - at(middle - off)) / 2};
}

}  // namespace portcullis::load
