// SPDX-License-Identifier: Apache-2.0

#include "base/strings.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace portcullis::base {
namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kBase64Url =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::array<signed char, 256> DecodeTable(std::string_view alphabet) {
  std::array<signed char, 256> table{};
  for (signed char& entry : table) entry = -1;
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    table[static_cast<unsigned char>(alphabet[i])] = static_cast<signed char>(i);
  }
  return table;
}
constexpr auto kBase64Values = DecodeTable(kBase64);
constexpr auto kBase64UrlValues = DecodeTable(kBase64Url);

char LowerChar(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
char UpperChar(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }
bool IsSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

std::string EncodeWith(std::string_view alphabet, std::string_view bytes, bool pad) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      if (j <= count) {
        out.push_back(alphabet[group >> (18 - 6 * j) & 63U]);
      } else if (pad) {
        out.push_back('=');
      }
    }
  }
  return out;
}

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      const bool same = LowerChar(a[i - 1]) == LowerChar(b[j - 1]);
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (same ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  pieces.reserve(1 + static_cast<std::size_t>(std::count(text.begin(), text.end(), separator)));
  std::size_t start = 0;
  while (true) {
    const std::size_t end = text.find(separator, start);
    pieces.push_back(text.substr(start, end == std::string_view::npos ? end : end - start));
    if (end == std::string_view::npos) return pieces;
    start = end + 1;
  }
}

std::optional<std::pair<std::string_view, std::string_view>> Cut(std::string_view text,
                                                                 std::string_view separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return std::nullopt;
  return std::pair(text.substr(0, at), text.substr(at + separator.size()));
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

std::string ToLower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), LowerChar);
  return out;
}

std::string ToUpper(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), UpperChar);
  return out;
}

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           return LowerChar(x) == LowerChar(y);
         });
}

std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  if (from.empty()) return std::string(text);
  while (true) {
    const std::size_t at = text.find(from);
    out.append(text.substr(0, at));
    if (at == std::string_view::npos) return out;
    out.append(to);
    text.remove_prefix(at + from.size());
  }
}

std::optional<std::int64_t> ParseInt(std::string_view text) {
  if (!text.empty() && text.front() == '+') {
    text.remove_prefix(1);
    if (!text.empty() && text.front() == '-') return std::nullopt;
  }
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::string HexEncode(std::span<const unsigned char> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const unsigned char byte : bytes) {
    out.push_back(kDigits[byte >> 4U]);
    out.push_back(kDigits[byte & 15U]);
  }
  return out;
}

std::string HexEncode(std::string_view bytes) {
  return HexEncode(std::span(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

std::string Base64Encode(std::string_view bytes) { return EncodeWith(kBase64, bytes, true); }
std::string Base64UrlEncode(std::string_view bytes) { return EncodeWith(kBase64Url, bytes, false); }

std::optional<std::string> Base64Decode(std::string_view text, std::size_t* error_at) {
  std::size_t ignored = 0;
  std::size_t& fault = error_at ? *error_at : ignored;
  std::string out(text.size() / 4 * 3, '\0');
  std::size_t at = 0;
  // Groups of four characters of the alphabet, which nearly all are.
  char* end = out.data();
  for (; text.size() - at >= 4; at += 4) {
    const auto value = [&](std::size_t i) {
      return std::int32_t{kBase64Values[static_cast<unsigned char>(text[at + i])]};
    };
    const std::int32_t group = value(0) << 18 | value(1) << 12 | value(2) << 6 | value(3);
    if (group < 0) break;
    *end++ = static_cast<char>(group >> 16);
    *end++ = static_cast<char>(group >> 8 & 255);
    *end++ = static_cast<char>(group & 255);
  }
  out.resize(static_cast<std::size_t>(end - out.data()));
  const auto skip_line_ends = [&] {
    while (at < text.size() && (text[at] == '\n' || text[at] == '\r')) ++at;
  };
  while (true) {
    std::uint32_t group = 0;
    std::size_t count = 0;
    while (count < 4) {
      skip_line_ends();
      if (at == text.size()) {
        if (count == 0) return out;
        fault = at - count;  // the group is cut short
        return std::nullopt;
      }
      const signed char value = kBase64Values[static_cast<unsigned char>(text[at])];
      if (value < 0) break;
      group = group << 6 | static_cast<std::uint32_t>(value);
      ++count;
      ++at;
    }
    if (count == 4) {
      out.push_back(static_cast<char>(group >> 16 & 255U));
      out.push_back(static_cast<char>(group >> 8 & 255U));
      out.push_back(static_cast<char>(group & 255U));
      continue;
    }
    // Padding, which ends the text: two or three characters must stand before it.
    if (text[at] != '=' || count < 2) {
      fault = at;
      return std::nullopt;
    }
    ++at;
    if (count == 2) {
      skip_line_ends();
      if (at == text.size() || text[at] != '=') {
        fault = at == text.size() ? text.size() : at;
        return std::nullopt;
      }
      ++at;
    }
    skip_line_ends();
    if (at != text.size()) {
      fault = at;
      return std::nullopt;
    }
    group <<= 6 * (4 - count);
    out.push_back(static_cast<char>(group >> 16 & 255U));
    if (count == 3) out.push_back(static_cast<char>(group >> 8 & 255U));
    return out;
  }
}

std::optional<std::string> Base64UrlDecode(std::string_view text) {
  std::string out;
  std::uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    const signed char value = kBase64UrlValues[static_cast<unsigned char>(c)];
    if (value < 0) return std::nullopt;
    group = (group << 6 | static_cast<std::uint32_t>(value)) & 0xFFFFFFU;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out.push_back(static_cast<char>(group >> bits & 255U));
    }
  }
  if (bits == 6) return std::nullopt;
  return out;
}

std::string_view Nearest(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = EditDistance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace portcullis::base
