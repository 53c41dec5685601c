#include "json/utf8.h"

#include <cstdint>
#include <cstring>

namespace portcullis::json {
namespace {

std::uint32_t Byte(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

// The number of ASCII bytes at the front, rounded down to whole words where that is cheaper.
std::size_t AsciiPrefix(std::string_view text) {
  std::size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    if ((word & 0x8080808080808080U) != 0) break;
  }
  while (i < text.size() && Byte(text, i) < 0x80) ++i;
  return i;
}

}  // namespace

Rune DecodeRune(std::string_view text) {
  const std::uint32_t first = Byte(text, 0);
  if (first < 0x80) return {first, 1, true};
  std::size_t size = 0;
  std::uint32_t code = 0;
  std::uint32_t least = 0;
  if (first >= 0xC2 && first <= 0xDF) {
    size = 2, code = first & 0x1F, least = 0x80;
  } else if ((first & 0xF0) == 0xE0) {
    size = 3, code = first & 0x0F, least = 0x800;
  } else if (first >= 0xF0 && first <= 0xF4) {
    size = 4, code = first & 0x07, least = 0x10000;
  } else {
    return {};
  }
  if (text.size() < size) return {};
  for (std::size_t i = 1; i < size; ++i) {
    const std::uint32_t next = Byte(text, i);
    if ((next & 0xC0) != 0x80) return {};
    code = (code << 6) | (next & 0x3F);
  }
  if (code < least || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {code, size, true};
}

void AppendRune(char32_t code, std::string& out) {
  if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) code = 0xFFFD;
  const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

bool IsValidUtf8(std::string_view text) {
  while (true) {
    text.remove_prefix(AsciiPrefix(text));
    if (text.empty()) return true;
    const Rune rune = DecodeRune(text);
    if (!rune.valid) return false;
    text.remove_prefix(rune.size);
  }
}

void AppendValidUtf8(std::string_view text, std::string& out) {
  while (!text.empty()) {
    const std::size_t ascii = AsciiPrefix(text);
    out.append(text.substr(0, ascii));
    text.remove_prefix(ascii);
    if (text.empty()) return;
    const Rune rune = DecodeRune(text);
    if (rune.valid) {
      out.append(text.substr(0, rune.size));
    } else {
      out.append("\xEF\xBF\xBD");
    }
    text.remove_prefix(rune.size);
  }
}

}  // namespace portcullis::json
