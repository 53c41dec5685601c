// SPDX-License-Identifier: Apache-2.0

#include "metrics/metrics.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "metrics/exposition.h"

namespace portcullis::metrics {
namespace {

void AddTo(std::atomic<double>& target, double by) {
  double seen = target.load(std::memory_order_relaxed);
  while (!target.compare_exchange_weak(seen, seen + by, std::memory_order_relaxed)) {
  }
}

constexpr double kQuantiles[] = {0.5, 0.9, 0.99};

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
  auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  counts_[static_cast<std::size_t>(bucket)].fetch_add(times, std::memory_order_relaxed);
  AddTo(sum_, value * static_cast<double>(times));
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

namespace {

// A metric without labels whose value is asked for.
struct Asked {
  std::string_view type;  // "gauge" or "counter"
  std::function<double()> value;
};

// The number of metrics in the registry, by stability and the release since which they are deprecated.
struct Registered {};

}  // namespace

struct Registry::Entry {
  Description description;
  std::variant<std::unique_ptr<Family<Counter>>, std::unique_ptr<Family<Gauge>>,
               std::unique_ptr<Family<Histogram>>, std::unique_ptr<Family<Summary>>, Asked,
               Registered>
      content;
};

Registry::Registry() = default;
Registry::~Registry() = default;

namespace {

// The family of an entry, made by the first who asks.
template <typename Metric, typename Entries>
Family<Metric>& FamilyOf(Entries& entries, Description description, std::vector<std::string> labels,
                         typename Family<Metric>::Maker make) {
  auto& entry = entries[description.name];
  using Content = std::unique_ptr<Family<Metric>>;
  if (entry == nullptr) {
    entry = std::make_unique<typename Entries::mapped_type::element_type>();
    entry->description = std::move(description);
    auto family = std::make_unique<Family<Metric>>(std::move(labels), std::move(make));
    // A metric without labels is there from the start, at zero.
    if (family->labels().empty()) family->With({});
    entry->content = std::move(family);
  }
  return *std::get<Content>(entry->content);
}

}  // namespace

Family<Counter>& Registry::AddCounter(Description description, std::vector<std::string> labels) {
  base::MutexLock lock(mutex_);
  return FamilyOf<Counter>(entries_, std::move(description), std::move(labels),
                           [] { return std::make_unique<Counter>(); });
}

Family<Gauge>& Registry::AddGauge(Description description, std::vector<std::string> labels) {
  base::MutexLock lock(mutex_);
  return FamilyOf<Gauge>(entries_, std::move(description), std::move(labels),
                         [] { return std::make_unique<Gauge>(); });
}

Family<Histogram>& Registry::AddHistogram(Description description, std::vector<std::string> labels,
                                          std::vector<double> bounds) {
  base::MutexLock lock(mutex_);
  return FamilyOf<Histogram>(
      entries_, std::move(description), std::move(labels),
      [bounds = std::move(bounds)] { return std::make_unique<Histogram>(bounds); });
}

Family<Summary>& Registry::AddSummary(Description description, std::vector<std::string> labels) {
  base::MutexLock lock(mutex_);
  return FamilyOf<Summary>(entries_, std::move(description), std::move(labels),
                           [] { return std::make_unique<Summary>(); });
}

void Registry::AddFunction(Description description, std::string_view type,
                           std::function<double()> value) {
  base::MutexLock lock(mutex_);
  auto& entry = entries_[description.name];
  entry = std::make_unique<Entry>();
  entry->description = std::move(description);
  entry->content = Asked{type, std::move(value)};
}

void Registry::AddGaugeFunction(Description description, std::function<double()> value) {
  AddFunction(std::move(description), "gauge", std::move(value));
}

void Registry::AddCounterFunction(Description description, std::function<double()> value) {
  AddFunction(std::move(description), "counter", std::move(value));
}

void Registry::AddCountsOfMetrics() {
  AddCounter({"disabled_metrics_total", "The count of disabled metrics.", Stability::kBeta}, {});
  AddCounter({"hidden_metrics_total", "The count of hidden metrics.", Stability::kBeta}, {});
  Description description{
      "registered_metrics_total",
      "The count of registered metrics broken by stability level and deprecation version.",
      Stability::kBeta};
  const base::MutexLock lock(mutex_);
  auto& entry = entries_[description.name];
  entry = std::make_unique<Entry>(Entry{std::move(description), Registered{}});
}

namespace {

using Counts = std::map<std::pair<Stability, std::string>, std::size_t>;

// Writes the samples of one family, whatever its kind.
class SampleWriter {
 public:
  SampleWriter(Exposition& out, const Description& description, const Counts& counts)
      : out_(out), description_(description), counts_(counts) {}

  void operator()(const Registered&) const {
    out_.Head(description_, "counter");
    for (const auto& [key, count] : counts_) {
      constexpr const char* kLevels[] = {"ALPHA", "BETA", "STABLE", ""};
      out_.Sample(description_.name, {"deprecated_version", "stability_level"},
                  {key.second, kLevels[static_cast<std::size_t>(key.first)]},
                  static_cast<double>(count));
    }
  }

  void operator()(const std::unique_ptr<Family<Counter>>& family) const {
    out_.Head(description_, "counter");
    family->ForEach([&](const auto& values, const Counter& counter) {
      out_.Sample(description_.name, family->labels(), values,
                  static_cast<double>(counter.value()));
    });
  }
  void operator()(const std::unique_ptr<Family<Gauge>>& family) const {
    out_.Head(description_, "gauge");
    family->ForEach([&](const auto& values, const Gauge& gauge) {
      out_.Sample(description_.name, family->labels(), values, gauge.value());
    });
  }
  void operator()(const Asked& asked) const {
    out_.Head(description_, asked.type);
    out_.Sample(description_.name, {}, {}, asked.value());
  }
  void operator()(const std::unique_ptr<Family<Histogram>>& family) const {
    out_.Head(description_, "histogram");
    family->ForEach([&](const auto& values, const Histogram& histogram) {
      std::uint64_t below = 0;
      for (std::size_t i = 0; i <= histogram.bounds().size(); ++i) {
        below += histogram.bucket(i);
        const std::string bound =
            i == histogram.bounds().size() ? "+Inf" : FormatNumber(histogram.bounds()[i]);
        out_.Sample(description_.name + "_bucket", family->labels(), values,
                    static_cast<double>(below), {"le", bound});
      }
      Totals(family->labels(), values, histogram.sum(), below);
    });
  }
  void operator()(const std::unique_ptr<Family<Summary>>& family) const {
    out_.Head(description_, "summary");
    family->ForEach([&](const auto& values, const Summary& summary) {
      for (const double share : kQuantiles) {
        out_.Sample(description_.name, family->labels(), values, summary.Quantile(share),
                    {"quantile", FormatNumber(share)});
      }
      Totals(family->labels(), values, summary.sum(), summary.count());
    });
  }

 private:
  void Totals(const std::vector<std::string>& labels, const std::vector<std::string>& values,
              double sum, std::uint64_t count) const {
    out_.Sample(description_.name + "_sum", labels, values, sum);
    out_.Sample(description_.name + "_count", labels, values, static_cast<double>(count));
  }

  Exposition& out_;
  const Description& description_;
  const Counts& counts_;
};

}  // namespace

std::string Registry::Expose() const {
  Exposition out;
  base::MutexLock lock(mutex_);
  Counts counts;
  for (const auto& [name, entry] : entries_) {
    const Description& description = entry->description;
    if (description.stability == Stability::kNone) continue;
    ++counts[{description.stability, description.deprecated}];
  }
  for (const auto& [name, entry] : entries_) {
    const std::size_t before = out.size();
    std::visit(SampleWriter(out, entry->description, counts), entry->content);
    // A family without samples does not appear at all.
    if (!out.has_samples()) out.Truncate(before);
  }
  return std::move(out).Take();
}

}  // namespace portcullis::metrics
