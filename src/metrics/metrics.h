// SPDX-License-Identifier: Apache-2.0

// Metrics: counters, gauges, histograms and summaries with labels, written in Prometheus' text
// format exactly as kube-apiserver writes them.
//
// Look a metric up once, keep the reference, then each increment is one atomic add:
//
//   metrics::Registry registry;
//   auto& family = registry.AddCounter({"apiserver_webhooks_total", "Calls of webhooks.",
//                                       metrics::Stability::kAlpha}, {"name", "type"});
//   metrics::Counter& calls = family.With({"a.example.com", "admit"});
//   calls.Increment();
//   std::string page = registry.Expose();
//
// Thread-safe throughout. Families and metrics live as long as the registry, unless removed;
// references stay valid.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "metrics/summary.h"

namespace portcullis::metrics {

// As in the HELP line: "[STABLE]".
enum class Stability : std::uint8_t { kAlpha, kBeta, kStable, kNone };

struct Description {
  std::string name;
  std::string help;
  Stability stability = Stability::kAlpha;
  std::string deprecated{};  // the release since which it is, "1.34.0"; mostly empty
};

class Counter {
 public:
  void Increment(std::uint64_t by = 1) { value_.fetch_add(by, std::memory_order_relaxed); }
  // For what is counted elsewhere: never goes back.
  void RaiseTo(std::uint64_t value);
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class Gauge {
 public:
  void Set(double value) { value_.store(value, std::memory_order_relaxed); }
  void Add(double by);
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

// Cumulative only when written; an observation touches one bucket and the sum.
class Histogram {
 public:
  // `bounds` ascending, without +Inf.
  explicit Histogram(std::span<const double> bounds);
  void Observe(double value) { Observe(value, 1); }
  // As many observations of the same value.
  void Observe(double value, std::uint64_t times);
  // What the other has observed, too. REQUIRES: the same bounds.
  void Add(const Histogram& other);

  std::span<const double> bounds() const { return bounds_; }
  // Observations in bucket `index` alone; index bounds().size() is +Inf.
  std::uint64_t bucket(std::size_t index) const {
    return counts_[index].load(std::memory_order_relaxed);
  }
  std::uint64_t count() const;
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  std::vector<double> bounds_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> counts_;
  std::atomic<double> sum_{0};
};

// The metrics of one name, one per combination of label values.
template <typename Metric>
class Family {
 public:
  using Maker = std::function<std::unique_ptr<Metric>()>;
  Family(std::vector<std::string> labels, Maker make)
      : labels_(std::move(labels)), make_(std::move(make)) {}

  // The metric with these label values (in the order the labels were declared), made when first
  // asked for. One that exists is found without allocation, under a shared lock.
  // REQUIRES: as many values as labels.
  Metric& With(std::initializer_list<std::string_view> values);
  Metric& With(std::span<const std::string_view> values);
  // Forgets the metric with these values; references to it die.
  void Remove(std::initializer_list<std::string_view> values);

  const std::vector<std::string>& labels() const { return labels_; }
  // In order of label values. `visit(values, metric)`.
  void ForEach(
      const std::function<void(const std::vector<std::string>&, const Metric&)>& visit) const;

 private:
  // Label values in lexical order, comparable with views of them.
  struct ByValues {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return std::lexicographical_compare(
          a.begin(), a.end(), b.begin(), b.end(),
          [](std::string_view x, std::string_view y) { return x < y; });
    }
  };

  const std::vector<std::string> labels_;
  const Maker make_;
  mutable base::SharedMutex mutex_;
  std::map<std::vector<std::string>, std::unique_ptr<Metric>, ByValues> metrics_
      PC_GUARDED_BY(mutex_);
};

extern template class Family<Counter>;
extern template class Family<Gauge>;
extern template class Family<Histogram>;
extern template class Family<Summary>;

// What the flags of kube-apiserver change of a page.
struct Limits {
  std::vector<std::string> disabled;  // names
  std::map<std::string, std::string>
      allowed;                // values by "name,label": "a,b"; others are "unexpected"
  bool shows_hidden = false;  // metrics that are deprecated for too long
};

class Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // A name that was added before gives the same family again. REQUIRES: same kind and labels then.
  Family<Counter>& AddCounter(Description description, std::vector<std::string> labels);
  Family<Gauge>& AddGauge(Description description, std::vector<std::string> labels);
  Family<Histogram>& AddHistogram(Description description, std::vector<std::string> labels,
                                  std::vector<double> bounds);
  // Quantiles 0.5, 0.9 and 0.99 over five hours.
  Family<Summary>& AddSummary(Description description, std::vector<std::string> labels);
  // A gauge, or a counter, whose value is asked for at exposition; the function must outlive the
  // registry.
  void AddGaugeFunction(Description description, std::function<double()> value);
  void AddCounterFunction(Description description, std::function<double()> value);

  // Before the first page. Values of labels are limited when a page is written: series that become the
  // same are added up, those of a summary stay as they are.
  void Limit(Limits limits) { limits_ = std::move(limits); }

  // What kube-apiserver tells of its own registry: how many metrics there are, and how many of them are
  // hidden or disabled. After Limit().
  void AddCountsOfMetrics();

  // The page: families in order of name, HELP and TYPE lines, labels sorted by name, numbers as Go
  // prints them. Content type: kContentType.
  std::string Expose() const;

 private:
  struct Entry;
  void AddFunction(Description description, std::string_view type, std::function<double()> value);
  Limits limits_;
  mutable base::Mutex mutex_;
  std::map<std::string, std::unique_ptr<Entry>> entries_ PC_GUARDED_BY(mutex_);
};

inline constexpr std::string_view kContentType =
    "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

}  // namespace portcullis::metrics
