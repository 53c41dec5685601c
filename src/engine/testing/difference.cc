// SPDX-License-Identifier: Apache-2.0

#include "engine/testing/difference.h"

#include "base/strings.h"
#include "json/writer.h"

namespace portcullis::engine::testing {

std::string Difference(json::Value wanted, json::Value actual, const std::string& path) {
  if (wanted.is_object() && actual.is_object()) {
    for (const json::Member& member : wanted.members()) {
      std::string inner =
          Difference(member.value, actual[member.name()], base::StrCat(path, ".", member.name()));
      if (!inner.empty()) return inner;
    }
    return {};
  }
  if (wanted.is_array() && actual.is_array() && wanted.size() == actual.size()) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      std::string inner = Difference(wanted.elements()[i], actual.elements()[i],
                                     base::StrCat(path, "[", std::to_string(i), "]"));
      if (!inner.empty()) return inner;
    }
    return {};
  }
  if (wanted.is_array() && actual.is_array()) {
    std::size_t first = 0;
    while (first < wanted.size() && first < actual.size() && wanted[first] == actual[first]) {
      ++first;
    }
    return base::StrCat(path, " of ", std::to_string(wanted.size()), ", is of ",
                        std::to_string(actual.size()), "; [", std::to_string(first), "]: wanted ",
                        json::ToString(wanted[first]), ", is ", json::ToString(actual[first]));
  }
  if (wanted == actual) return {};
  return base::StrCat(path, ": wanted ", json::ToString(wanted), ", is ", json::ToString(actual));
}

}  // namespace portcullis::engine::testing
