// SPDX-License-Identifier: Apache-2.0

#include "api/schema/text_formats.h"

#include <re2/re2.h>

#include <algorithm>
#include <string>

#include "base/strings.h"
#include "golang/netip.h"
#include "golang/time.h"
#include "golang/url.h"

namespace portcullis::api::schema {
namespace {

re2::StringPiece Piece(std::string_view text) { return {text.data(), text.size()}; }

bool Matches(std::string_view text, const std::string& pattern) {
  return RE2::FullMatch(Piece(text), pattern);
}

bool IsDate(std::string_view text) {
  return text.size() == 10 && golang::ParseTime(base::StrCat(text, "T00:00:00Z")).ok();
}

// What follows a second "t" does not count.
bool IsDateTime(std::string_view text) {
  const std::string lower = base::ToLower(text);
  const auto parts = base::Split(lower, 't');
  return parts.size() >= 2 && IsDate(parts[0]) &&
         Matches(parts[1], R"(([01]\d|2[0-3]):[0-5]\d:[0-5]\d(.\d+)?(z|[+-]\d{2}:\d{2}))");
}

// As Go has it, or with a number and a word somewhere: "in 3 days".
bool IsDuration(std::string_view text) {
  if (golang::ParseDuration(text).ok()) return true;
  re2::StringPiece rest = Piece(text);
  std::int64_t number = 0;
  std::string digits;
  std::string unit;
  bool known = false;
  while (RE2::FindAndConsume(&rest, R"((\d+)\s*([A-Za-zµ]+))", &digits, &unit)) {
    if (!RE2::FullMatch(digits, R"((\d+))", &number)) return false;  // too large
    known = known || Matches(unit,
                             "(?i)ns|us|µs|ms|s|m|hr?|d|wk?|"
                             "(nano|micro|milli|sec|min|hour|day|week).*");
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
  const auto groups = [&](const std::string& group, const std::string& sign,
                          std::initializer_list<int> counts) {
    return std::any_of(counts.begin(), counts.end(), [&](int count) {
      return Matches(text,
                     base::StrCat(group, "(", sign, group, "){", std::to_string(count - 1), "}"));
    });
  };
  return groups("[0-9a-fA-F]{2}", ":", {6, 8, 20}) || groups("[0-9a-fA-F]{2}", "-", {6, 8, 20}) ||
         groups("[0-9a-fA-F]{4}", R"(\.)", {3, 4, 10});
}

// One label with at most one hyphen, or several whose last has letters only.
bool IsHostname(std::string_view text) {
  constexpr std::string_view kSigns = R"(a-zA-Z0-9\p{S}\p{L})";
  const std::string sign = base::StrCat("[", kSigns, "]");
  const std::string label = base::StrCat(sign, "([", kSigns, "-]{0,61}", sign, ")?");
  const std::string pattern =
      base::StrCat(sign, "(-?", sign, "{0,62})?|(", label, R"(\.)+[a-zA-Z\p{L}]{2,63})");
  if (text.size() > 255 || !Matches(text, pattern)) return false;
  const auto labels = base::Split(text, '.');
  return std::all_of(labels.begin(), labels.end(),
                     [](std::string_view one) { return one.size() <= 63; });
}

// Of any version if that is a space.
template <char Version>
bool IsUuid(std::string_view text) {
  const std::string hex = "[0-9a-f]";
  const std::string version = Version == ' ' ? hex : std::string(1, Version);
  const std::string variant = Version == '4' || Version == '5' ? "[89ab]" : hex;
  return Matches(text, base::StrCat("(?i)", hex, "{8}-?", hex, "{4}-?", version, hex, "{3}-?",
                                    variant, hex, "{3}-?", hex, "{12}"));
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
  if (!Matches(digits, R"(\d{9}[\dX])")) return false;
  int sum = 0;
  for (int i = 0; i < 10; ++i) sum += (i + 1) * (digits[i] == 'X' ? 10 : digits[i] - '0');
  return sum % 11 == 0;
}

bool IsIsbn13(std::string_view text) {
  const std::string digits = Without(text, &IsSpaceOrHyphen);
  if (!Matches(digits, R"(\d{13})")) return false;
  int sum = 0;
  for (int i = 0; i < 13; ++i) sum += (i % 2 == 0 ? 1 : 3) * (digits[i] - '0');
  return sum % 10 == 0;
}

bool IsIsbn(std::string_view text) { return IsIsbn10(text) || IsIsbn13(text); }

// By the numbers of the issuers and the check digit (ISO/IEC 7812).
bool IsCreditCard(std::string_view text) {
  const std::string digits = Without(text, [](char sign) { return sign < '0' || sign > '9'; });
  if (!Matches(digits, R"(4(\d{12}|\d{15})|5[1-5]\d{14}|6011\d{12}|65\d{14}|3[47]\d{13}|)"
                       R"(3(0[0-5]|[68]\d)\d{11}|(2131|1800|35\d{3})\d{11})")) {
    return false;
  }
  int sum = 0;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const int digit = digits[digits.size() - 1 - i] - '0';
    sum += i % 2 == 0 ? digit : digit * 2 % 10 + digit / 5;
  }
  return sum % 10 == 0;
}

bool IsRgbColor(std::string_view text) {
  const std::string part = R"(\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*)";
  return Matches(text, base::StrCat(R"(rgb\()", part, ",", part, ",", part, R"(\))"));
}

bool IsSsn(std::string_view text) {
  return text.size() == 11 && Matches(text, R"(\d{3}[- ]?\d{2}[- ]?\d{4})");
}

constexpr const char* kShortName = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";

bool IsShortName(std::string_view text) { return text.size() <= 63 && Matches(text, kShortName); }

bool IsLongName(std::string_view text) {
  return text.size() <= 253 && Matches(text, base::StrCat(kShortName, R"((\.)", kShortName, ")*"));
}

// A format is a pattern or a function, or neither if it accepts all.
struct Format {
  std::string_view name;  // without hyphens
  const char* pattern;
  bool (*holds)(std::string_view text);
};

constexpr Format kFormats[] = {
    {"bsonobjectid", "[0-9a-fA-F]{24}", nullptr},
    {"byte", "([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})", nullptr},
    {"cidr", nullptr, &IsCidr},
    {"creditcard", nullptr, &IsCreditCard},
    {"date", nullptr, &IsDate},
    {"datetime", nullptr, &IsDateTime},
    {"duration", nullptr, &IsDuration},
    {"email", R"([^@\s]+@[^@\s]+)", nullptr},
    {"hexcolor", "#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})", nullptr},
    {"hostname", nullptr, &IsHostname},
    {"ipv4", nullptr, &IsIpv4},
    {"ipv6", nullptr, &IsIpv6},
    {"isbn", nullptr, &IsIsbn},
    {"isbn10", nullptr, &IsIsbn10},
    {"isbn13", nullptr, &IsIsbn13},
    {"k8slongname", nullptr, &IsLongName},
    {"k8sshortname", nullptr, &IsShortName},
    {"mac", nullptr, &IsMac},
    {"password", nullptr, nullptr},
    {"rgbcolor", nullptr, &IsRgbColor},
    {"ssn", nullptr, &IsSsn},
    {"uri", nullptr, &IsUri},
    {"uuid", nullptr, &IsUuid<' '>},
    {"uuid3", nullptr, &IsUuid<'3'>},
    {"uuid4", nullptr, &IsUuid<'4'>},
    {"uuid5", nullptr, &IsUuid<'5'>},
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
  if (found == nullptr) return true;
  if (found->holds != nullptr) return found->holds(text);
  return found->pattern == nullptr || Matches(text, found->pattern);
}

}  // namespace portcullis::api::schema
