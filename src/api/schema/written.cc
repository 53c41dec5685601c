// SPDX-License-Identifier: Apache-2.0

#include "api/schema/written.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::api::schema {

using json::Value;

Value AsWritten(json::Arena& arena, Value value) {
  if (value.is_double() && std::isfinite(value.AsDouble())) {
    const auto read = json::Parse(arena, json::ToString(value));
    return read.ok() ? *read : value;
  }
  const bool is_container = value.is_array() || value.is_object();
  if (!is_container || !value.source().empty()) return value;
  std::vector<Value> elements(value.elements().begin(), value.elements().end());
  for (Value& element : elements) element = AsWritten(arena, element);
  if (value.is_array()) return json::MakeArray(arena, elements);
  std::vector<json::Member> members(value.members().begin(), value.members().end());
  for (json::Member& member : members) member.value = AsWritten(arena, member.value);
  return json::MakeObject(arena, members);
}

Value AsFloat64(json::Arena& arena, Value number) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  if (number.is_int() && number.AsInt() >= -kExact && number.AsInt() <= kExact) return number;
  return AsWritten(arena, Value::Double(number.AsDouble()));
}

}  // namespace portcullis::api::schema
