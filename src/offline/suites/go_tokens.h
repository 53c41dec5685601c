// SPDX-License-Identifier: Apache-2.0

// The tokens of a Go source file, as far as a reader of test files needs them: names, texts with their
// values, every other sign by itself. Comments and white space are left out. Source that is not valid Go
// gives some tokens; nothing fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace portcullis::offline {

struct GoToken {
  enum class Kind : std::uint8_t { kName, kText, kSign };
  Kind kind = Kind::kSign;
  std::string text;  // of a text its value, without quotes and escapes
  std::size_t offset = 0;

  bool IsSign(char sign) const { return kind == Kind::kSign && text[0] == sign; }
  bool IsName(std::string_view name) const { return kind == Kind::kName && text == name; }
};

std::vector<GoToken> ReadGoTokens(std::string_view source);

}  // namespace portcullis::offline
