// SPDX-License-Identifier: Apache-2.0

#include "json/go_float.h"

#include "golang/strconv.h"

#include <cmath>

namespace portcullis::json::internal {
namespace {

// go-yaml has its own words for what is no number.
template <typename Float>
std::string Format(Float value) {
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value > 0 ? ".inf" : "-.inf";
  return golang::FormatFloat(value);
}

}  // namespace

std::string FormatShortest(double value) { return Format(value); }
std::string FormatShortest(float value) { return Format(value); }

}  // namespace portcullis::json::internal
