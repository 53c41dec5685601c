// SPDX-License-Identifier: Apache-2.0

#include "metrics/metrics.h"

#include <algorithm>
#include <utility>

namespace portcullis::metrics {
namespace {

void AddTo(std::atomic<double>& target, double by) {
  double seen = target.load(std::memory_order_relaxed);
  while (!target.compare_exchange_weak(seen, seen + by, std::memory_order_relaxed)) {
  }
}

}  // namespace

void Counter::RaiseTo(std::uint64_t value) {
  std::uint64_t seen = value_.load(std::memory_order_relaxed);
  while (seen < value && !value_.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

void Gauge::Add(double by) { AddTo(value_, by); }

Histogram::Histogram(std::span<const double> bounds)
    : bounds_(bounds.begin(), bounds.end()),
      counts_(std::make_unique<std::atomic<std::uint64_t>[]>(bounds.size() + 1)) {}

void Histogram::Observe(double value, std::uint64_t times) {
  // Most are below the first bound.
  const bool first = bounds_.empty() || value <= bounds_.front();
  const auto bucket =
      first ? 0 : std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  counts_[static_cast<std::size_t>(bucket)].fetch_add(times, std::memory_order_relaxed);
  AddTo(sum_, value * static_cast<double>(times));
}

void Histogram::Add(const Histogram& other) {
  for (std::size_t i = 0; i <= bounds_.size(); ++i) {
    counts_[i].fetch_add(other.bucket(i), std::memory_order_relaxed);
  }
  AddTo(sum_, other.sum());
}

std::uint64_t Histogram::count() const {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i <= bounds_.size(); ++i) count += bucket(i);
  return count;
}

template <typename Metric>
Metric& Family<Metric>::With(std::initializer_list<std::string_view> values) {
  return With(std::span<const std::string_view>(values.begin(), values.size()));
}

template <typename Metric>
Metric& Family<Metric>::With(std::span<const std::string_view> values) {
  {
    base::ReaderLock lock(mutex_);
    if (auto it = metrics_.find(values); it != metrics_.end()) return *it->second;
  }
  std::vector<std::string> key(values.begin(), values.end());
  key.resize(labels_.size());
  // Made before it has a place: should there be no memory for it, no empty place is left.
  std::unique_ptr<Metric> metric = make_();
  base::WriterLock lock(mutex_);
  return *metrics_.try_emplace(std::move(key), std::move(metric)).first->second;
}

template <typename Metric>
void Family<Metric>::Remove(std::initializer_list<std::string_view> values) {
  const base::WriterLock lock(mutex_);
  const auto found =
      metrics_.find(std::span<const std::string_view>(values.begin(), values.size()));
  if (found != metrics_.end()) metrics_.erase(found);
}

template <typename Metric>
void Family<Metric>::ForEach(
    const std::function<void(const std::vector<std::string>&, const Metric&)>& visit) const {
  base::ReaderLock lock(mutex_);
  for (const auto& [values, metric] : metrics_) visit(values, *metric);
}

template class Family<Counter>;
template class Family<Gauge>;
template class Family<Histogram>;
template class Family<Summary>;

}  // namespace portcullis::metrics
