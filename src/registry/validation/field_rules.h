// SPDX-License-Identifier: Apache-2.0

// Rules about single fields, as rows of data: for kinds whose validation is no more than
// "required", "one of", "at least", "immutable". `[*]` in a path stands for every element.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "registry/validation/checks.h"

namespace portcullis::registry {

enum class FieldRuleKind : std::uint8_t {
  kRequired,   // Required value, with `argument` as the detail
  kOneOf,      // `argument` is "A|B|C" in the order of the message; absent values pass
  kPositive,   // > 0, if it is there
  kMinimum,    // must be greater than or equal to `argument`
  kDnsLabel,   // DNS-1123 label, if present
  kSubdomain,  // DNS-1123 subdomain, if present
  kImmutable,  // updates only: field is immutable
  kFrozen,     // updates only: Forbidden with `argument` as the detail if it changes
};

struct FieldRule {
  std::string_view path;
  FieldRuleKind kind;
  std::string_view argument = {};
};

// Applies all rows. `old` is null for a create.
void CheckFieldRules(std::span<const FieldRule> rules, json::Value object, const json::Value* old,
                     FieldErrors& errors);

}  // namespace portcullis::registry
