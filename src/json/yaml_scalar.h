// SPDX-License-Identifier: Apache-2.0

// What a YAML 1.1 scalar without quotes means, with go-yaml's choices; private to this folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/status.h"

namespace portcullis::json::internal {

inline constexpr std::string_view kYamlTagPrefix = "tag:yaml.org,2002:";

enum class YamlTag { kNull, kBool, kInt, kFloat, kTimestamp, kString, kBinary, kOther };

struct YamlScalar {
  YamlTag tag = YamlTag::kString;
  // Null, or the value by tag; integers above int64 are uint64. Timestamps and all other tags keep
  // their text (binary ones still encoded).
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string> value;
};

// `tag` in full or "". Fails like "yaml: cannot decode !!str `x` as a !!int".
base::Result<YamlScalar> ResolveScalar(std::string_view tag, std::string_view text);

// Whether plain `text` would be read as anything but a string, by go-yaml or by readers that know
// base 60 numbers; it must then be quoted.
bool NeedsQuotes(std::string_view text);

}  // namespace portcullis::json::internal
