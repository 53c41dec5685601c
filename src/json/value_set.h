// SPDX-License-Identifier: Apache-2.0

// A set of values by their content. Where a list is checked for duplicates or searched for each
// element of another one, this costs a logarithm instead of a loop.
#pragma once

#include <set>
#include <string>

#include "json/value.h"
#include "json/writer.h"

namespace portcullis::json {

// Values are told apart by their text: member order does not count, and 1 equals 1.0. Owns copies;
// confined to one thread at a time.
class ValueSet {
 public:
  // Whether the value is new.
  bool Insert(Value value) { return texts_.insert(TextOf(value)).second; }
  bool Contains(Value value) const { return texts_.contains(TextOf(value)); }

 private:
  static std::string TextOf(Value value) { return ToString(value, {.sort_keys = true}); }

  std::set<std::string> texts_;
};

}  // namespace portcullis::json
