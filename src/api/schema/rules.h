// SPDX-License-Identifier: Apache-2.0

// The small language of defaults.rules and conversions.rules: paths, conditions and statements
// (docs/internals/defaults.md). Defaulter and Convert() give the statements their meaning.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::api::schema {

struct PathStep {
  std::string_view name;  // "" for a list's elements
  std::uint32_t hash = 0;
  bool each = false;  // go through all elements of the list
};
using RulePath = std::vector<PathStep>;  // empty: the object itself

struct Condition {
  enum class Test : std::uint8_t { kEquals, kDiffers, kPresent, kAbsent, kNonempty };
  RulePath path;
  Test test = Test::kPresent;
  json::Value value;
};

struct Statement {
  enum class Action : std::uint8_t {
    kSetIfAbsent,  // path = value
    kSetIfZero,    // path ?= value
    kSetAlways,    // path := value; null removes
    kUse,          // use Name at path
    kCall,         // call function at path
    kMove,         // path -> path (conversions)
  };
  Action action = Action::kSetIfAbsent;
  RulePath path;
  json::Value value;
  std::optional<RulePath> source;  // @path instead of a value; target of kMove
  std::string_view name;           // of kUse and kCall
  std::vector<Condition> conditions;
  std::string_view gate;  // the feature gate behind which it is done; "" if there is none
  int since_minor = 0;    // 13: v1.13 was the first release that did it
};

struct RuleBlock {
  std::string_view head;  // "define" or "kind" or "convert"
  std::vector<std::string_view> words;
  std::vector<Statement> statements;
};

// Parsed rules; strings and values live in `arena`.
struct RuleFile {
  json::Arena arena;
  std::vector<RuleBlock> blocks;
};

// Errors are ConfigError `line 12: …`.
base::Status ParseRules(std::string_view text, RuleFile& file);

// The value at a path without `[]`; null if there is none.
json::Value AtPath(json::Value object, const RulePath& path);
bool Holds(const std::vector<Condition>& conditions, json::Value object);
bool Holds(const Condition& condition, json::Value value);  // of the value at its path
// Null, "", 0, false, [] and {}.
bool IsZeroValue(json::Value value);

}  // namespace portcullis::api::schema
