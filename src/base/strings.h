// SPDX-License-Identifier: Apache-2.0

// Text pieces that every module uses: join, split, trim, prefix tests, ASCII case, hex and base64.
//
// Pure functions; views returned point into their argument.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace portcullis::base {

// Concatenates anything that converts to string_view.
template <typename... Pieces>
std::string StrCat(const Pieces&... pieces) {
  std::string out;
  out.reserve((std::string_view(pieces).size() + ... + 0));
  (out.append(std::string_view(pieces)), ...);
  return out;
}

template <typename Range>
std::string Join(const Range& range, std::string_view separator) {
  std::string out;
  bool first = true;
  for (const auto& piece : range) {
    if (!first) out.append(separator);
    first = false;
    out.append(std::string_view(piece));
  }
  return out;
}

// "a,,b" by ',' gives "a", "", "b"; the empty text gives one empty piece (as Go's strings.Split).
std::vector<std::string_view> Split(std::string_view text, char separator);
// Text before and after the first separator; no value if there is none.
std::optional<std::pair<std::string_view, std::string_view>> Cut(std::string_view text,
                                                                 std::string_view separator);
// Removes ASCII white space at both ends.
std::string_view Trim(std::string_view text);
std::string ToLower(std::string_view text);  // ASCII only
std::string ToUpper(std::string_view text);  // ASCII only
bool EqualsIgnoreCase(std::string_view a, std::string_view b);
std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to);

// Decimal integer that fills the whole text; no value otherwise or on overflow.
std::optional<std::int64_t> ParseInt(std::string_view text);

std::string HexEncode(std::span<const unsigned char> bytes);  // lower case
std::string HexEncode(std::string_view bytes);
std::string Base64Encode(std::string_view bytes);
// Standard alphabet with padding; CR and LF are skipped, as Go does. On failure `error_at`
// (optional) receives the offset that Go's CorruptInputError would name.
std::optional<std::string> Base64Decode(std::string_view text, std::size_t* error_at = nullptr);
std::string Base64UrlEncode(std::string_view bytes);  // no padding
std::optional<std::string> Base64UrlDecode(std::string_view text);

// The entry of `candidates` nearest to `word` by edit distance, or "" if none is near: for
// "did you mean" in messages of our own.
std::string_view Nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace portcullis::base
