// SPDX-License-Identifier: Apache-2.0

#include "api/schema/text_formats.h"

#include <re2/re2.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "base/strings.h"
#include "golang/netip.h"
#include "golang/time.h"
#include "golang/url.h"

namespace portcullis::api::schema {
namespace {

re2::StringPiece Piece(std::string_view text) { return {text.data(), text.size()}; }

bool Matches(std::string_view text, const RE2& pattern) {
  return RE2::FullMatch(Piece(text), pattern);
}

bool IsDate(std::string_view text) {
  return text.size() == 10 && golang::ParseTime(base::StrCat(text, "T00:00:00Z")).ok();
}

// Ignores all that follows a second "t", as the library does.
bool IsDateTime(std::string_view text) {
  const std::string lower = base::ToLower(text);
  const auto parts = base::Split(lower, 't');
  static const RE2 kTime(R"(([01]\d|2[0-3]):[0-5]\d:[0-5]\d(.\d+)?(z|[+-]\d{2}:\d{2}))");
  return parts.size() >= 2 && IsDate(parts[0]) && Matches(parts[1], kTime);
}

// As Go has it, or with a number and a word somewhere: "in 3 days".
bool IsDuration(std::string_view text) {
  if (golang::ParseDuration(text).ok()) return true;
  static const RE2 kPart(R"((\d+)\s*([A-Za-zµ]+))");
  static const RE2 kDigits(R"((\d+))");
  static const RE2 kUnit(
      "(?i)ns|us|µs|ms|s|m|hr?|d|wk?|"
      "(nano|micro|milli|sec|min|hour|day|week).*");
  re2::StringPiece rest = Piece(text);
  std::int64_t number = 0;
  std::string digits;
  std::string unit;
  bool known = false;
  while (RE2::FindAndConsume(&rest, kPart, &digits, &unit)) {
    if (!RE2::FullMatch(digits, kDigits, &number)) return false;  // too large
    known = known || Matches(unit, kUnit);
  }
  return known;
}

bool IsIpv4(std::string_view text) {
  return golang::ParseIpSloppy(text) && text.find('.') != std::string_view::npos;
}

bool IsIpv6(std::string_view text) {
  return golang::ParseIp(text) && text.find(':') != std::string_view::npos;
}

bool IsCidr(std::string_view text) { return golang::ParsePrefixSloppy(text).has_value(); }

bool IsUri(std::string_view text) { return golang::ParseRequestUri(text).ok(); }

// 6, 8 or 20 bytes, all separated by one of three signs.
bool IsMac(std::string_view text) {
  static const RE2 kMac([] {
    const std::string byte = "[0-9a-fA-F]{2}";
    const std::string pair = "[0-9a-fA-F]{4}";
    std::string any;
    for (const auto& [group, sign, counts] :
         {std::tuple{byte, ":", "5|7|19"}, {byte, "-", "5|7|19"}, {pair, R"(\.)", "2|3|9"}}) {
      for (const std::string_view more : base::Split(counts, '|')) {
        any += base::StrCat(any.empty() ? "" : "|", group, "(", sign, group, "){", more, "}");
      }
    }
    return any;
  }());
  return Matches(text, kMac);
}

// One label with at most one hyphen, or several whose last has letters only.
bool IsHostname(std::string_view text) {
  static const RE2 kHostname([] {
    constexpr std::string_view kSigns = R"(a-zA-Z0-9\p{S}\p{L})";
    const std::string sign = base::StrCat("[", kSigns, "]");
    const std::string label = base::StrCat(sign, "([", kSigns, "-]{0,61}", sign, ")?");
    return base::StrCat(sign, "(-?", sign, "{0,62})?|(", label, R"(\.)+[a-zA-Z\p{L}]{2,63})");
  }());
  if (text.size() > 255 || !Matches(text, kHostname)) return false;
  const auto labels = base::Split(text, '.');
  return std::all_of(labels.begin(), labels.end(),
                     [](std::string_view one) { return one.size() <= 63; });
}

// A Version of ' ' accepts UUIDs of every version.
template <char Version>
bool IsUuid(std::string_view text) {
  static const RE2 kUuid([] {
    const std::string hex = "[0-9a-f]";
    const std::string version = Version == ' ' ? hex : std::string(1, Version);
    const std::string variant = Version == '4' || Version == '5' ? "[89ab]" : hex;
    return base::StrCat("(?i)", hex, "{8}-?", hex, "{4}-?", version, hex, "{3}-?", variant, hex,
                        "{3}-?", hex, "{12}");
  }());
  return Matches(text, kUuid);
}

std::string Without(std::string_view text, bool (*unwanted)(char)) {
  std::string kept(text);
  std::erase_if(kept, unwanted);
  return kept;
}

bool IsSpaceOrHyphen(char sign) {
  return sign == '-' || std::string_view(" \t\n\f\r").find(sign) != std::string_view::npos;
}

bool IsIsbn10(std::string_view text) {
  const std::string digits = Without(text, &IsSpaceOrHyphen);
  static const RE2 kDigits(R"(\d{9}[\dX])");
  if (!Matches(digits, kDigits)) return false;
  int sum = 0;
  int weight = 0;
  for (const char digit : digits) sum += ++weight * (digit == 'X' ? 10 : digit - '0');
  return sum % 11 == 0;
}

bool IsIsbn13(std::string_view text) {
  const std::string digits = Without(text, &IsSpaceOrHyphen);
  static const RE2 kDigits(R"(\d{13})");
  if (!Matches(digits, kDigits)) return false;
  int sum = 0;
  int weight = 1;
  for (const char digit : digits) {
    sum += weight * (digit - '0');
    weight = 4 - weight;  // 1 and 3 in turn
  }
  return sum % 10 == 0;
}

bool IsIsbn(std::string_view text) { return IsIsbn10(text) || IsIsbn13(text); }

// By the numbers of the issuers and the check digit (ISO/IEC 7812).
bool IsCreditCard(std::string_view text) {
  const std::string digits = Without(text, [](char sign) { return sign < '0' || sign > '9'; });
  static const RE2 kNumber(R"(4(\d{12}|\d{15})|5[1-5]\d{14}|6011\d{12}|65\d{14}|3[47]\d{13}|)"
                           R"(3(0[0-5]|[68]\d)\d{11}|(2131|1800|35\d{3})\d{11})");
  if (!Matches(digits, kNumber)) return false;
  int sum = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const int digit = digits[digits.size() - 1 - i] - '0';
    sum += i % 2 == 0 ? digit : digit * 2 % 10 + digit / 5;
  }
  return sum % 10 == 0;
}

bool IsRgbColor(std::string_view text) {
  static const RE2 kColor([] {
    const std::string part = R"(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*)";
    return base::StrCat(R"(rgb\()", part, ",", part, ",", part, R"(\))");
  }());
  return Matches(text, kColor);
}

// Whether the whole text matches.
template <const auto& pattern>
bool Is(std::string_view text) {
  static const RE2 kCompiled(pattern);
  return Matches(text, kCompiled);
}

constexpr char kBase64[] =
    "([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})";
constexpr char kEmail[] = R"([^@\s]+@[^@\s]+)";
constexpr char kHexColor[] = "#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})";
constexpr char kLongName[] = R"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)";
constexpr char kObjectId[] = "[0-9a-fA-F]{24}";
constexpr char kShortName[] = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr char kSsn[] = R"(\d{3}[- ]?\d{2}[- ]?\d{4})";

bool IsSsn(std::string_view text) { return text.size() == 11 && Is<kSsn>(text); }
bool IsShortName(std::string_view text) { return text.size() <= 63 && Is<kShortName>(text); }
bool IsLongName(std::string_view text) { return text.size() <= 253 && Is<kLongName>(text); }
bool IsAnything(std::string_view) { return true; }

struct Format {
  std::string_view name;  // without hyphens
  bool (*holds)(std::string_view text);
};

constexpr Format kFormats[] = {
    {"bsonobjectid", &Is<kObjectId>},
    {"byte", &Is<kBase64>},
    {"cidr", &IsCidr},
    {"creditcard", &IsCreditCard},
    {"date", &IsDate},
    {"datetime", &IsDateTime},
    {"duration", &IsDuration},
    {"email", &Is<kEmail>},
    {"hexcolor", &Is<kHexColor>},
    {"hostname", &IsHostname},
    {"ipv4", &IsIpv4},
    {"ipv6", &IsIpv6},
    {"isbn", &IsIsbn},
    {"isbn10", &IsIsbn10},
    {"isbn13", &IsIsbn13},
    {"k8slongname", &IsLongName},
    {"k8sshortname", &IsShortName},
    {"mac", &IsMac},
    {"password", &IsAnything},
    {"rgbcolor", &IsRgbColor},
    {"ssn", &IsSsn},
    {"uri", &IsUri},
    {"uuid", &IsUuid<' '>},
    {"uuid3", &IsUuid<'3'>},
    {"uuid4", &IsUuid<'4'>},
    {"uuid5", &IsUuid<'5'>},
};

const Format* Find(std::string_view name) {
  const std::string plain = Without(name, [](char sign) { return sign == '-'; });
  const auto* found = std::find_if(std::begin(kFormats), std::end(kFormats),
                                   [&](const Format& one) { return one.name == plain; });
  return found == std::end(kFormats) ? nullptr : found;
}

}  // namespace

bool IsFormatOf(std::string_view type, std::string_view format) {
  if (type == "integer") return format == "int32" || format == "int64";
  if (type == "number") return format == "float" || format == "double";
  return (type.empty() || type == "string") && !format.empty() && Find(format) != nullptr;
}

bool MatchesFormat(std::string_view format, std::string_view text) {
  const Format* found = Find(format);
  return found == nullptr || found->holds(text);
}

}  // namespace portcullis::api::schema
