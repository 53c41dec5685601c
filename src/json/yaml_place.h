// Where a member or element stands in a YAML or JSON text, for messages about files.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace portcullis::json {

struct YamlPlace {
  std::size_t line = 0;    // from 1
  std::size_t column = 0;  // from 1
  std::size_t steps = 0;   // how many steps of the path exist
};

// Follows `path` (names of members, indexes of elements as decimal numbers) from the root of the
// first document as far as it leads; no value if not even the first step exists, or the text does
// not parse. Of a member the place of its name.
std::optional<YamlPlace> FindInYaml(std::string_view text, std::span<const std::string> path);

// The first member of that name anywhere.
std::optional<YamlPlace> FindMemberInYaml(std::string_view text, std::string_view name);

}  // namespace portcullis::json
