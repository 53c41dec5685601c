// SPDX-License-Identifier: Apache-2.0

// Values by schema: an example of any type, and lists, maps and texts of any length in it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "api/schema/schema.h"
#include "json/value.h"

namespace portcullis::cost_law {

// Where in an object: names of fields, "[]" for the one element of a list, "{}" for the one entry
// of a map.
using Place = std::vector<std::string>;
std::string TextOf(const Place& place);  // "spec.containers[].env"

// How the elements of a grown list or map differ.
enum class Likeness {
  kDistinct,  // names and values
  kChanged,   // the same names as kDistinct, other values
  kEqual,     // all the same
};

struct Growth {
  Place place;
  std::size_t size = 1;  // elements, entries or bytes
  Likeness likeness = Likeness::kDistinct;
};

// A value with the fields of its type that are required, or that an object is known by.
json::Value Example(json::Arena& arena, const api::schema::Schema& schema, std::string_view name,
                    std::size_t index, Likeness likeness);

// `base` with the list, map or text at the place grown; what is missing on the way is made.
json::Value Grown(json::Arena& arena, const api::schema::Schema& schema, json::Value base,
                  const Growth& growth);

}  // namespace portcullis::cost_law
