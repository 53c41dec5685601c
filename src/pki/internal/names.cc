// SPDX-License-Identifier: Apache-2.0

#include "pki/internal/names.h"

#include <algorithm>

#include "base/gotext.h"

namespace portcullis::pki {
namespace {

// Bodies of object identifiers.
constexpr std::string_view kCommonName = "\x55\x04\x03";
constexpr std::string_view kOrganization = "\x55\x04\x0a";
constexpr std::string_view kUid = "\x2b\x06\x01\x04\x01\x83\xc2\x53\x02";

template <bool (*IsGood)(char)>
std::optional<std::string> IfAll(std::string_view text) {
  if (!std::all_of(text.begin(), text.end(), IsGood)) return std::nullopt;
  return std::string(text);
}

bool IsPrintable(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view(" '()+,-./:=?*&").find(c) != std::string_view::npos;
}
bool IsAscii(char c) { return (c & 0x80) == 0; }
bool IsNumeric(char c) { return (c >= '0' && c <= '9') || c == ' '; }

std::optional<std::string> FromUtf8(std::string_view text) {
  if (!base::IsValidUtf8(text)) return std::nullopt;
  return std::string(text);
}

std::optional<std::string> FromLatin1(std::string_view text) {
  std::string out;
  for (const char c : text) base::AppendRune(static_cast<unsigned char>(c), out);
  return out;
}

// Two bytes a character, none of them reserved; a zero at the end is cut off.
std::optional<std::string> FromBmp(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  if (text.ends_with(std::string_view("\0\0", 2))) text.remove_suffix(2);
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const auto point = static_cast<char32_t>(static_cast<unsigned char>(text[i]) << 8 |
                                             static_cast<unsigned char>(text[i + 1]));
    if (point >= 0xfffe || (point >= 0xfdd0 && point <= 0xfdef) ||
        (point >= 0xd800 && point <= 0xdfff)) {
      return std::nullopt;
    }
    base::AppendRune(point, out);
  }
  return out;
}

constexpr StringType kStringTypes[] = {
    {0x0c, "UTF-8 string", &FromUtf8},
    {0x12, "NumericString", &IfAll<IsNumeric>},
    {0x13, "PrintableString", &IfAll<IsPrintable>},
    {0x14, "T61String", &FromLatin1},
    {0x16, "IA5String", &IfAll<IsAscii>},
    {0x1e, "BMPString", &FromBmp},
};

}  // namespace

const StringType* FindStringType(unsigned tag) {
  const auto* found = std::find_if(std::begin(kStringTypes), std::end(kStringTypes),
                                   [tag](const StringType& type) { return type.tag == tag; });
  return found == std::end(kStringTypes) ? nullptr : found;
}

void KeepAttribute(std::string_view type, std::string value, DistinguishedName& name) {
  if (type == kCommonName) {
    name.common_name = std::move(value);
  } else if (type == kOrganization) {
    name.organizations.push_back(std::move(value));
  } else if (type == kUid) {
    name.uids.push_back(std::move(value));
  }
}

}  // namespace portcullis::pki
