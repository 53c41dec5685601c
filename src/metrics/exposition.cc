// SPDX-License-Identifier: Apache-2.0

#include "metrics/exposition.h"

#include "golang/strconv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <numeric>

namespace portcullis::metrics {
namespace {

std::string_view StabilityText(Stability stability) {
  switch (stability) {
    case Stability::kAlpha:
      return "[ALPHA] ";
    case Stability::kBeta:
      return "[BETA] ";
    case Stability::kStable:
      return "[STABLE] ";
    case Stability::kNone:
      break;
  }
  return "";
}

void AppendEscaped(std::string& out, std::string_view text, bool quotes) {
  for (char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quotes) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
}

}  // namespace

std::string FormatNumber(double value) {
  return value == 0 ? std::string("0") : golang::FormatFloat(value);
}

void Exposition::Head(const Description& description, std::string_view type) {
  has_samples_ = false;
  out_.append("# HELP ").append(description.name).push_back(' ');
  out_.append(StabilityText(description.stability));
  if (!description.deprecated.empty()) {
    out_.append("(Deprecated since ").append(description.deprecated).append(") ");
  }
  AppendEscaped(out_, description.help, false);
  out_.append("\n# TYPE ").append(description.name).append(" ").append(type).push_back('\n');
}

void Exposition::Label(std::string_view name, std::string_view value, bool& first) {
  out_.push_back(first ? '{' : ',');
  first = false;
  out_.append(name).append("=\"");
  AppendEscaped(out_, value, true);
  out_.push_back('"');
}

void Exposition::Sample(std::string_view name, const std::vector<std::string>& labels,
                        const std::vector<std::string>& values, double value,
                        std::pair<std::string_view, std::string_view> extra) {
  has_samples_ = true;
  out_.append(name);
  std::vector<std::size_t> order(labels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return labels[a] < labels[b]; });
  bool first = true;
  for (std::size_t i : order) Label(labels[i], values[i], first);
  if (!extra.first.empty()) Label(extra.first, extra.second, first);
  if (!first) out_.push_back('}');
  out_.append(" ").append(FormatNumber(value)).push_back('\n');
}

}  // namespace portcullis::metrics
