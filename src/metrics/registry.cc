// SPDX-License-Identifier: Apache-2.0

// The registry: families by name, and the page that they make.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "base/strings.h"
#include "metrics/exposition.h"
#include "metrics/metrics.h"

namespace portcullis::metrics {
namespace {

constexpr double kQuantiles[] = {0.5, 0.9, 0.99};

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

namespace {

// Metrics that kube-apiserver hides, each beside the one that has replaced it. Those of etcd's size
// have no replacement here.
struct Hidden {
  std::string_view name;
  std::string_view successor;
  std::string_view deprecated;
  std::string_view type;
};
constexpr Hidden kHidden[] = {
    {"apiserver_flowcontrol_request_concurrency_in_use",
     "apiserver_flowcontrol_current_executing_seats", "1.31.0", ""},
    {"apiserver_flowcontrol_request_concurrency_limit", "apiserver_flowcontrol_nominal_limit_seats",
     "1.30.0", ""},
    {"apiserver_request_slo_duration_seconds", "apiserver_request_sli_duration_seconds", "1.27.0",
     ""},
    {"apiserver_storage_db_total_size_in_bytes", "", "1.28.0", ""},
    {"etcd_bookmark_counts", "etcd_bookmark_total", "1.36.0", "gauge"},
};

// kube-apiserver has made these before it reads --disabled-metrics: they stay.
constexpr std::string_view kAlwaysThere[] = {
    "aggregator_",
    "apiserver_admission_",
    "apiserver_audit_",
    "apiserver_authentication_config_controller_",
    "apiserver_authorization_",
    "apiserver_cel_",
    "apiserver_client_certificate_",
    "apiserver_conversion_",
    "apiserver_crd_conversion_",
    "apiserver_encryption_config_controller_",
    "apiserver_impersonation_",
    "apiserver_mutating_admission_policy_",
    "apiserver_storage_size_bytes",
    "apiserver_validating_admission_policy_",
    "apiserver_webhooks_",
    "authenticated_",
    "authentication_",
    "authorization_",
    "cardinality_",
    "disabled_",
    "hidden_",
    "kubernetes_",
    "process_",
    "registered_",
    "rest_client_",
    "version_info",
};

bool IsDisabled(const Limits& limits, const std::string& name) {
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  return std::find(limits.disabled.begin(), limits.disabled.end(), name) != limits.disabled.end() &&
         std::none_of(std::begin(kAlwaysThere), std::end(kAlwaysThere), begins);
}

// Which labels of a family have a list of values that are allowed.
class AllowedValues {
 public:
  AllowedValues(const Limits& limits, const std::string& name,
                const std::vector<std::string>& labels)
      : lists_(labels.size()) {
    for (std::size_t i = 0; i < labels.size() && !limits.allowed.empty(); ++i) {
      const auto found = limits.allowed.find(base::StrCat(name, ",", labels[i]));
      if (found == limits.allowed.end()) continue;
      lists_[i] = base::Split(found->second, ',');
      limited_ = true;
    }
  }
  bool limited() const { return limited_; }
  // How many of the values have become "unexpected".
  std::size_t Constrain(std::vector<std::string>& values) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (lists_[i].empty() ||
          std::find(lists_[i].begin(), lists_[i].end(), values[i]) != lists_[i].end())
        continue;
      values[i] = "unexpected";
      ++count;
    }
    return count;
  }

 private:
  std::vector<std::vector<std::string_view>> lists_;  // empty: all are
  bool limited_ = false;
};

std::unique_ptr<Counter> Empty(const Counter&) { return std::make_unique<Counter>(); }
std::unique_ptr<Gauge> Empty(const Gauge&) { return std::make_unique<Gauge>(); }
std::unique_ptr<Histogram> Empty(const Histogram& like) {
  return std::make_unique<Histogram>(like.bounds());
}
void Add(Counter& sum, const Counter& part) { sum.Increment(part.value()); }
void Add(Gauge& sum, const Gauge& part) { sum.Add(part.value()); }
void Add(Histogram& sum, const Histogram& part) { sum.Add(part); }

// How often a value was not allowed: once for each time that something was counted.
struct Unexpected {
  const Limits& limits;
  const std::string& name;

  static std::uint64_t Times(const Counter& counter) { return counter.value(); }
  static std::uint64_t Times(const Histogram& histogram) { return histogram.count(); }
  static std::uint64_t Times(const Gauge&) { return 1; }

  template <typename Metric>
  std::uint64_t operator()(const std::unique_ptr<Family<Metric>>& family) const {
    const AllowedValues allowed(limits, name, family->labels());
    std::uint64_t sum = 0;
    if (!allowed.limited()) return sum;
    family->ForEach([&](std::vector<std::string> values, const Metric& metric) {
      sum += allowed.Constrain(values) * Times(metric);
    });
    return sum;
  }
  std::uint64_t operator()(const std::unique_ptr<Family<Summary>>&) const { return 0; }
  std::uint64_t operator()(const Asked&) const { return 0; }
  std::uint64_t operator()(const Registered&) const { return 0; }
};

}  // namespace

void Registry::AddCountsOfMetrics() {
  const std::set<std::string_view> disabled(limits_.disabled.begin(), limits_.disabled.end());
  AddCounter({"disabled_metrics_total", "The count of disabled metrics.", Stability::kBeta}, {})
      .With({})
      .Increment(disabled.size());
  AddCounter({"hidden_metrics_total", "The count of hidden metrics.", Stability::kBeta}, {});
  AddCounter({"cardinality_enforcement_unexpected_categorizations_total",
              "The count of unexpected categorizations during cardinality enforcement."},
             {});
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
  SampleWriter(Exposition& out, const Description& description, const Counts& counts,
               const Limits& limits, std::string_view type = "")
      : out_(out), description_(description), counts_(counts), limits_(limits), type_(type) {}

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
    out_.Head(description_, type_.empty() ? "counter" : type_);
    Each(*family, [&](const auto& values, const Counter& counter) {
      out_.Sample(description_.name, family->labels(), values,
                  static_cast<double>(counter.value()));
    });
  }
  void operator()(const std::unique_ptr<Family<Gauge>>& family) const {
    out_.Head(description_, "gauge");
    Each(*family, [&](const auto& values, const Gauge& gauge) {
      out_.Sample(description_.name, family->labels(), values, gauge.value());
    });
  }
  void operator()(const Asked& asked) const {
    out_.Head(description_, asked.type);
    out_.Sample(description_.name, {}, {}, asked.value());
  }
  void operator()(const std::unique_ptr<Family<Histogram>>& family) const {
    out_.Head(description_, "histogram");
    Each(*family, [&](const auto& values, const Histogram& histogram) {
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
  // The series of a family, those that the limits make the same as one.
  template <typename Metric, typename Visit>
  void Each(const Family<Metric>& family, const Visit& visit) const {
    const AllowedValues allowed(limits_, description_.name, family.labels());
    if (!allowed.limited()) return family.ForEach(visit);
    std::map<std::vector<std::string>, std::unique_ptr<Metric>> merged;
    family.ForEach([&](std::vector<std::string> values, const Metric& metric) {
      allowed.Constrain(values);
      auto& sum = merged[std::move(values)];
      if (sum == nullptr) sum = Empty(metric);
      Add(*sum, metric);
    });
    for (const auto& [values, metric] : merged) visit(values, *metric);
  }

  void Totals(const std::vector<std::string>& labels, const std::vector<std::string>& values,
              double sum, std::uint64_t count) const {
    out_.Sample(description_.name + "_sum", labels, values, sum);
    out_.Sample(description_.name + "_count", labels, values, static_cast<double>(count));
  }

  Exposition& out_;
  const Description& description_;
  const Counts& counts_;
  const Limits& limits_;
  const std::string_view type_;  // instead of the family's own; mostly empty
};

}  // namespace

std::string Registry::Expose() const {
  Exposition out;
  base::MutexLock lock(mutex_);
  // What is on the page: a description and what it describes. Hidden metrics stand for others.
  struct Line {
    Description description;
    const Entry* entry;
    std::string_view type;
  };
  std::map<std::string_view, Line> lines;
  Counts counts;
  std::uint64_t unexpected = 0;
  std::uint64_t hidden = limits_.shows_hidden ? 0 : std::size(kHidden);
  for (const auto& [name, entry] : entries_) {
    const Description& description = entry->description;
    if (IsDisabled(limits_, name)) {
      ++hidden;
      continue;
    }
    lines.try_emplace(name, Line{description, entry.get(), ""});
    unexpected += std::visit(Unexpected{limits_, name}, entry->content);
    if (description.stability == Stability::kNone) continue;
    ++counts[{description.stability, description.deprecated}];
  }
  for (const Hidden& row : kHidden) {
    const auto found = entries_.find(std::string(row.successor));
    if (!limits_.shows_hidden || found == entries_.end()) continue;
    Description description{std::string(row.name), found->second->description.help,
                            Stability::kAlpha, std::string(row.deprecated)};
    if (IsDisabled(limits_, description.name)) {
      ++hidden;
      continue;
    }
    ++counts[{description.stability, description.deprecated}];
    lines.try_emplace(row.name, Line{std::move(description), found->second.get(), row.type});
  }
  const auto tell = [](const auto& entries, const char* name, std::uint64_t count) {
    const auto found = entries.find(name);
    if (found == entries.end()) return;
    std::get<std::unique_ptr<Family<Counter>>>(found->second->content)->With({}).RaiseTo(count);
  };
  tell(entries_, "hidden_metrics_total", hidden);
  tell(entries_, "cardinality_enforcement_unexpected_categorizations_total", unexpected);
  for (const auto& [name, line] : lines) {
    const std::size_t before = out.size();
    std::visit(SampleWriter(out, line.description, counts, limits_, line.type),
               line.entry->content);
    // A family without samples does not appear at all.
    if (!out.has_samples()) out.Truncate(before);
  }
  return std::move(out).Take();
}

}  // namespace portcullis::metrics
