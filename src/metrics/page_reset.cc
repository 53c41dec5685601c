// SPDX-License-Identifier: Apache-2.0

#include "metrics/page_reset.h"

#include <cstdlib>
#include <utility>

#include "base/strings.h"
#include "metrics/exposition.h"

namespace portcullis::metrics {
namespace {

// One line of a page after the other, each with its end.
struct Lines {
  std::string_view rest;

  std::string_view Next() {
    const std::string_view line = rest.substr(0, rest.find('\n') + 1);
    rest.remove_prefix(line.size());
    return line;
  }
};

struct Sample {
  explicit Sample(std::string_view line)
      : series(line.substr(0, line.rfind(' '))),
        value(std::strtod(std::string(line.substr(series.size() + 1)).c_str(), nullptr)) {}

  std::string_view name() const { return series.substr(0, series.find('{')); }

  std::string_view series;
  double value;
};

// What the two lines before the samples of a family say.
class Head {
 public:
  void Read(std::string_view line) {
    const bool is_help = line.starts_with("# HELP ");
    if (is_help) has_level_ = base::Split(line, ' ')[3].starts_with('[');
    is_counter_ = line.ends_with(" counter\n");
    is_gauge_ = line.ends_with(" gauge\n");
  }
  bool Counts(const Sample& sample) const {
    return has_level_ && !is_gauge_ && sample.series.find("quantile=\"") == std::string_view::npos;
  }
  // A counter is one line; of the lines of a histogram and a summary the count is the last.
  bool Ends(const Sample& sample) const { return is_counter_ || sample.name().ends_with("_count"); }

 private:
  bool has_level_ = false;
  bool is_counter_ = false;
  bool is_gauge_ = false;
};

}  // namespace

void PageReset::Reset(std::string_view page) {
  std::unordered_map<std::string, double> counted;
  Head head;
  for (Lines lines{page}; !lines.rest.empty();) {
    const std::string_view line = lines.Next();
    if (line.starts_with('#')) {
      head.Read(line);
    } else if (const Sample sample(line); sample.value > 0 && head.Counts(sample)) {
      counted.emplace(sample.series, sample.value);
    }
  }
  const base::MutexLock lock(mutex_);
  counted_ = std::move(counted);
}

std::string PageReset::Since(std::string page) const {
  const base::MutexLock lock(mutex_);
  if (counted_.empty()) return page;
  std::string out;
  Head head;
  std::size_t family = 0;   // where the lines of the current family begin,
  std::size_t samples = 0;  // where its samples do,
  std::size_t series = 0;   // and where those of the current series do
  for (Lines lines{page}; !lines.rest.empty();) {
    const std::string_view line = lines.Next();
    if (line.starts_with('#')) {
      if (line.starts_with("# HELP ")) {
        if (out.size() == samples) out.resize(family);
        family = out.size();
      }
      head.Read(line);
      out += line;
      samples = series = out.size();
      continue;
    }
    const Sample sample(line);
    const auto found = counted_.find(std::string(sample.series));
    if (found == counted_.end()) {
      out += line;
    } else {
      const double since = sample.value - found->second;
      out += base::StrCat(sample.series, " ", FormatNumber(since), "\n");
      if (head.Ends(sample) && since <= 0 && sample.series.ends_with('}')) out.resize(series);
    }
    if (head.Ends(sample)) series = out.size();
  }
  if (out.size() == samples) out.resize(family);
  return out;
}

}  // namespace portcullis::metrics
