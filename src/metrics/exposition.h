// SPDX-License-Identifier: Apache-2.0

// Exposition writes Prometheus' text format, version 0.0.4, as Go's expfmt package prints it.
// Source: Prometheus docs, "Exposition formats". Confined to one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "metrics/metrics.h"

namespace portcullis::metrics {

class Exposition {
 public:
  // The HELP and TYPE lines of a family.
  void Head(const Description& description, std::string_view type);
  // One line. Labels are written in the order of their names, `extra` (le, quantile) last; labels
  // with an empty name of `extra` are left out.
  void Sample(std::string_view name, const std::vector<std::string>& labels,
              const std::vector<std::string>& values, double value,
              std::pair<std::string_view, std::string_view> extra = {});

  // Whether there was a Sample since the last Head.
  bool has_samples() const { return has_samples_; }
  std::size_t size() const { return out_.size(); }
  void Truncate(std::size_t size) { out_.resize(size); }
  std::string Take() && { return std::move(out_); }

 private:
  void Label(std::string_view name, std::string_view value, bool& first);
  std::string out_;
  bool has_samples_ = false;
};

// As Go's strconv.FormatFloat(value, 'g', -1, 64): "1", "0.005", "1e+06", "+Inf", "NaN".
std::string FormatNumber(double value);

}  // namespace portcullis::metrics
