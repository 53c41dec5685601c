// SPDX-License-Identifier: Apache-2.0

// Where a member or element stands in a YAML or JSON text, for messages about files.
#pragma once

#include <cstddef>
#include <memory>
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

// The places of one text, which is parsed once. Movable; not thread-safe.
class YamlPlaces {
 public:
  // The first document of `text`; nothing is found in one that does not parse. Nothing is borrowed.
  explicit YamlPlaces(std::string_view text);
  ~YamlPlaces();
  YamlPlaces(YamlPlaces&&) noexcept;
  YamlPlaces& operator=(YamlPlaces&&) noexcept;

  // Follows `path` (names of members, indexes of elements as decimal numbers) from the root as far
  // as it leads; no value if not even the first step exists. Of a member the place of its name.
  std::optional<YamlPlace> Find(std::span<const std::string> path) const;
  // The first member of that name anywhere.
  std::optional<YamlPlace> FindMember(std::string_view name) const;
  // Where the document begins.
  std::optional<YamlPlace> Root() const;

 private:
  class Parsed;
  std::unique_ptr<Parsed> parsed_;
};

// The same of a text that is asked about once.
std::optional<YamlPlace> FindInYaml(std::string_view text, std::span<const std::string> path);
std::optional<YamlPlace> FindMemberInYaml(std::string_view text, std::string_view name);

}  // namespace portcullis::json
