// SPDX-License-Identifier: Apache-2.0

#include "base/gotext.h"

#include <array>

namespace portcullis::base {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

struct RuneRange {
  char32_t first;
  char32_t last;
};

// What Go does not count as printable outside ASCII: controls, format characters, separators,
// surrogates, private use and the two noncharacters at the end of each plane.
constexpr std::array kUnprintable = {
    RuneRange{0x7F, 0xA0},       RuneRange{0xAD, 0xAD},        RuneRange{0x600, 0x605},
    RuneRange{0x61C, 0x61C},     RuneRange{0x6DD, 0x6DD},      RuneRange{0x70F, 0x70F},
    RuneRange{0x890, 0x891},     RuneRange{0x8E2, 0x8E2},      RuneRange{0x1680, 0x1680},
    RuneRange{0x180E, 0x180E},   RuneRange{0x2000, 0x200F},    RuneRange{0x2028, 0x202F},
    RuneRange{0x205F, 0x206F},   RuneRange{0x3000, 0x3000},    RuneRange{0xD800, 0xF8FF},
    RuneRange{0xFDD0, 0xFDEF},   RuneRange{0xFEFF, 0xFEFF},    RuneRange{0xFFF0, 0xFFFB},
    RuneRange{0xFFFE, 0xFFFF},   RuneRange{0x110BD, 0x110BD},  RuneRange{0x110CD, 0x110CD},
    RuneRange{0x13430, 0x1343F}, RuneRange{0x1BCA0, 0x1BCA3},  RuneRange{0x1D173, 0x1D17A},
    RuneRange{0xE0000, 0xE00FF}, RuneRange{0xE01F0, 0x10FFFF},
};

void AppendHex(char32_t value, int digits, std::string& out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (int shift = (digits - 1) * 4; shift >= 0; shift -= 4) {
    out.push_back(kDigits[value >> static_cast<unsigned>(shift) & 15U]);
  }
}

std::string ListOf(std::span<const std::string> list, bool quoted) {
  std::string out = "[";
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out.push_back(' ');
    out += quoted ? GoQuote(list[i]) : list[i];
  }
  return out + "]";
}

// How many bytes at the front are printed as they are, between quotes too.
std::size_t PlainPrefix(std::string_view text) {
  std::size_t size = 0;
  while (size < text.size() && text[size] >= 0x20 && text[size] < 0x7F && text[size] != '"' &&
         text[size] != '\\') {
    ++size;
  }
  return size;
}

}  // namespace

bool IsPrintable(char32_t rune) {
  if (rune < 0x7F) return rune >= 0x20;
  for (const RuneRange& range : kUnprintable) {
    if (rune >= range.first && rune <= range.last) return false;
  }
  return true;
}

char32_t DecodeRune(std::string_view text, std::size_t& size) {
  const auto byte = [&](std::size_t i) -> char32_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const char32_t lead = byte(0);
  size = 1;
  if (lead < 0x80) return lead;
  if (lead >= 0xC2 && lead <= 0xDF && tail(1)) {
    size = 2;
    return (lead & 0x1FU) << 6 | (byte(1) & 0x3FU);
  }
  if (lead >= 0xE0 && lead <= 0xEF && tail(1) && tail(2)) {
    const char32_t rune = (lead & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU);
    if (rune >= 0x800 && (rune < 0xD800 || rune > 0xDFFF)) {
      size = 3;
      return rune;
    }
  }
  if (lead >= 0xF0 && lead <= 0xF4 && tail(1) && tail(2) && tail(3)) {
    const char32_t rune =
        (lead & 0x07U) << 18 | (byte(1) & 0x3FU) << 12 | (byte(2) & 0x3FU) << 6 | (byte(3) & 0x3FU);
    if (rune >= 0x10000 && rune <= 0x10FFFF) {
      size = 4;
      return rune;
    }
  }
  return kReplacement;
}

void AppendRune(char32_t rune, std::string& out) {
  if (rune > 0x10FFFF || (rune >= 0xD800 && rune <= 0xDFFF)) rune = kReplacement;
  if (rune < 0x80) {
    out.push_back(static_cast<char>(rune));
  } else if (rune < 0x800) {
    out.push_back(static_cast<char>(0xC0U | rune >> 6));
    out.push_back(static_cast<char>(0x80U | (rune & 0x3FU)));
  } else if (rune < 0x10000) {
    out.push_back(static_cast<char>(0xE0U | rune >> 12));
    out.push_back(static_cast<char>(0x80U | (rune >> 6 & 0x3FU)));
    out.push_back(static_cast<char>(0x80U | (rune & 0x3FU)));
  } else {
    out.push_back(static_cast<char>(0xF0U | rune >> 18));
    out.push_back(static_cast<char>(0x80U | (rune >> 12 & 0x3FU)));
    out.push_back(static_cast<char>(0x80U | (rune >> 6 & 0x3FU)));
    out.push_back(static_cast<char>(0x80U | (rune & 0x3FU)));
  }
}

bool IsValidUtf8(std::string_view text) {
  while (!text.empty()) {
    std::size_t size = 0;
    if (DecodeRune(text, size) == kReplacement && size == 1) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::size_t RuneCount(std::string_view text) {
  std::size_t count = 0;
  while (!text.empty()) {
    std::size_t size = 0;
    DecodeRune(text, size);
    text.remove_prefix(size);
    ++count;
  }
  return count;
}

std::string GoQuote(std::string_view text) {
  std::string out = "\"";
  while (true) {
    const std::size_t plain = PlainPrefix(text);  // mostly the whole
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    std::size_t size = 0;
    const char32_t rune = DecodeRune(text, size);
    const std::string_view bytes = text.substr(0, size);
    text.remove_prefix(size);
    if (rune == kReplacement && size == 1) {
      out += "\\x";
      AppendHex(static_cast<unsigned char>(bytes[0]), 2, out);
      continue;
    }
    constexpr std::string_view kEscaped = "\a\b\f\n\r\t\v\\\"";
    constexpr std::string_view kLetters = "abfnrtv\\\"";
    const std::size_t escape =
        rune < 0x80 ? kEscaped.find(static_cast<char>(rune)) : std::string_view::npos;
    if (escape != std::string_view::npos) {
      out.push_back('\\');
      out.push_back(kLetters[escape]);
    } else if (IsPrintable(rune)) {
      out += bytes;
    } else if (rune < 0x20 || rune == 0x7F) {
      out += "\\x";
      AppendHex(rune, 2, out);
    } else if (rune < 0x10000) {
      out += "\\u";
      AppendHex(rune, 4, out);
    } else {
      out += "\\U";
      AppendHex(rune, 8, out);
    }
  }
  return out + "\"";
}

std::string JsonQuote(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    std::size_t size = 0;
    const char32_t rune = DecodeRune(text, size);
    text.remove_prefix(size);
    switch (rune) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (rune < 0x20) {
          out += "\\u";
          AppendHex(rune, 4, out);
        } else {
          AppendRune(rune, out);
        }
    }
  }
  return out + "\"";
}

std::string GoList(std::span<const std::string> list) { return ListOf(list, false); }
std::string GoQuotedList(std::span<const std::string> list) { return ListOf(list, true); }

}  // namespace portcullis::base
