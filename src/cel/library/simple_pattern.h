// SPDX-License-Identifier: Apache-2.0

// Patterns so simple that no regular expression engine is needed: `^[a-z0-9.-]+$`, `^v[0-9]+`.
//
// A pattern is a sequence of single ASCII characters or classes, each perhaps with + * or ?, where
// taking as much as possible is always right, anchored at the start. Policies are full of them, and
// this is several times faster than the general engine.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace portcullis::cel {

class SimplePattern {
 public:
  // No value if the pattern is not that simple. It need not be a valid expression.
  static std::optional<SimplePattern> Parse(std::string_view pattern);
  bool Matches(std::string_view text) const;

 private:
  struct Item {
    std::array<bool, 256> set{};
    bool optional = false;  // * or ?
    bool repeated = false;  // * or +
  };
  std::vector<Item> items_;
  bool to_the_end_ = false;  // ends with $
};

}  // namespace portcullis::cel
