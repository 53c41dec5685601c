// SPDX-License-Identifier: Apache-2.0

// How the texts of a JSON Patch are spelled. Go keeps a value of a patch as the bytes that it was read from until it
// is marshalled, and `test` compares these bytes: `\u0041` is not `A`. A Value has the characters only, so each text
// that is spelled otherwise than Go writes it is noted here, under the address of its characters.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "json/value.h"

namespace portcullis::json::internal {

class Spellings {
 public:
  explicit Spellings(Arena& arena) : arena_(arena) {}

  // Whether all texts are spelled as Go does.
  bool empty() const { return spellings_.empty(); }
  // Notes the texts in `value`. `spelled` is the same value, from ParseSpelled(); both outlive this.
  void Note(Value value, Value spelled);
  // Whether the texts of two equal values are spelled alike.
  bool Same(Value value, Value other) const;
  // What `copy` puts at its target: it marshals the value, which escapes what Compact() escapes and leaves all other
  // spellings. The texts that change have a new address.
  Value Copied(Value value);

 private:
  void Note(Value text, std::string_view spelled);
  std::string_view Of(Value text) const;  // empty if it is spelled as Go does
  Value CopiedText(Value text);

  Arena& arena_;
  std::map<const char*, std::string_view> spellings_;
};

}  // namespace portcullis::json::internal
