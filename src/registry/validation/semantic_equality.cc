// SPDX-License-Identifier: Apache-2.0

#include "registry/validation/semantic_equality.h"

#include <algorithm>

#include "json/writer.h"

namespace portcullis::registry {
namespace {

bool SameText(json::Value a, json::Value b) { return json::ToString(a) == json::ToString(b); }

}  // namespace

bool SemanticallyEqual(json::Value a, json::Value b) {
  if (a.IsSameAs(b)) return true;
  const auto nothing = [](json::Value value) {
    return value.is_null() || (value.is_array() && value.empty());
  };
  if (nothing(a) || nothing(b)) return nothing(a) && nothing(b);
  if (a.is_array() && b.is_array()) {
    const auto x = a.elements();
    const auto y = b.elements();
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), SemanticallyEqual);
  }
  if (!a.is_object() || !b.is_object()) return a == b;
  const bool of_driver = a.Has("driver");
  for (const json::Member& member : a.members()) {
    const bool raw = of_driver && member.name() == "parameters";
    const json::Value other = b[member.name()];
    if (!(raw ? SameText(member.value, other) : SemanticallyEqual(member.value, other))) {
      return false;
    }
  }
  for (const json::Member& member : b.members()) {
    if (!a.Has(member.name()) && !nothing(member.value)) return false;
  }
  return true;
}

}  // namespace portcullis::registry
