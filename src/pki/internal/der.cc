// SPDX-License-Identifier: Apache-2.0

#include "pki/internal/der.h"

#include <algorithm>
#include <ctime>

namespace portcullis::pki {
namespace {

unsigned char ByteAt(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

// The subidentifiers of an OBJECT IDENTIFIER: at most five bytes each, the value below 2^28 before
// the last seven bits, none beginning with 80.
bool IsReadableIdentifier(std::string_view body) {
  if (body.empty()) return false;
  std::uint32_t value = 0;
  int count = 0;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const unsigned char byte = ByteAt(body, i);
    if (count == 5 || value >= 1U << 24U || (count == 0 && byte == 0x80)) return false;
    value = value << 7U | (byte & 0x7fU);
    ++count;
    if ((byte & 0x80) != 0) continue;
    value = 0;
    count = 0;
  }
  return count == 0;
}

std::optional<int> Digits(std::string_view& text, std::size_t count) {
  if (text.size() < count) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(0, count)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(count);
  return value;
}

// "Z" or an offset from UTC that is not zero, in seconds.
std::optional<int> Zone(std::string_view text) {
  if (text == "Z") return 0;
  if (text.size() != 5 || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const int sign = text[0] == '-' ? -1 : 1;
  text.remove_prefix(1);
  const auto hours = Digits(text, 2);
  const auto minutes = Digits(text, 2);
  if (!hours || !minutes || *hours > 24 || *minutes > 59) return std::nullopt;
  const int offset = *hours * 3600 + *minutes * 60;
  if (offset == 0) return std::nullopt;
  return sign * offset;
}

int DaysOf(int month, int year) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return month == 2 && leap ? 29 : kDays[month - 1];
}

// What follows the year: "MMDDhhmm", "ss" if there are that many digits or if they have to be
// there, and the zone.
std::optional<std::int64_t> TimeInYear(int year, std::string_view text, bool needs_seconds) {
  const auto month = Digits(text, 2);
  const auto day = Digits(text, 2);
  const auto hour = Digits(text, 2);
  const auto minute = Digits(text, 2);
  if (!month || !day || !hour || !minute) return std::nullopt;
  std::optional<int> second = 0;
  if (needs_seconds || (!text.empty() && text[0] >= '0' && text[0] <= '9')) {
    second = Digits(text, 2);
  }
  const auto zone = Zone(text);
  if (!second || !zone || *month < 1 || *month > 12 || *day < 1 || *day > DaysOf(*month, year) ||
      *hour > 23 || *minute > 59 || *second > 59) {
    return std::nullopt;
  }
  std::tm parts{};
  parts.tm_year = year - 1900;
  parts.tm_mon = *month - 1;
  parts.tm_mday = *day;
  parts.tm_hour = *hour;
  parts.tm_min = *minute;
  parts.tm_sec = *second;
  return static_cast<std::int64_t>(timegm(&parts)) - *zone;
}

}  // namespace

std::optional<DerElement> DerReader::Next() {
  if (rest_.size() < 2) return std::nullopt;
  const unsigned char tag = ByteAt(rest_, 0);
  if ((tag & 0x1f) == 0x1f) return std::nullopt;  // tags of several bytes
  std::size_t length = ByteAt(rest_, 1);
  std::size_t header = 2;
  if ((length & 0x80) != 0) {
    const std::size_t count = length & 0x7f;
    if (count == 0 || count > 4 || rest_.size() < 2 + count) return std::nullopt;
    length = 0;
    for (std::size_t i = 0; i < count; ++i) length = length << 8U | ByteAt(rest_, 2 + i);
    const bool shortest = length >= 128 && (length >> ((count - 1) * 8)) != 0;
    if (!shortest) return std::nullopt;
    header += count;
  }
  if (rest_.size() - header < length) return std::nullopt;
  DerElement element{tag, rest_.substr(header, length), rest_.substr(0, header + length)};
  rest_.remove_prefix(header + length);
  return element;
}

std::optional<DerElement> DerReader::Next(unsigned char tag) {
  auto element = Next();
  if (element && element->tag != tag) return std::nullopt;
  return element;
}

std::optional<DerReader> DerReader::Enter(unsigned char tag) {
  const auto element = Next(tag);
  if (!element) return std::nullopt;
  return DerReader(element->body);
}

std::optional<bool> DerReader::Boolean() {
  const auto element = Next(kDerBoolean);
  if (!element || element->body.size() != 1) return std::nullopt;
  const unsigned char value = ByteAt(element->body, 0);
  if (value != 0 && value != 0xff) return std::nullopt;
  return value != 0;
}

std::optional<std::string_view> DerReader::Integer(unsigned char tag) {
  const auto element = Next(tag);
  if (!element || element->body.empty()) return std::nullopt;
  const std::string_view body = element->body;
  if (body.size() == 1) return body;
  const bool second_negative = (ByteAt(body, 1) & 0x80) != 0;
  const unsigned char first = ByteAt(body, 0);
  if ((first == 0 && !second_negative) || (first == 0xff && second_negative)) return std::nullopt;
  return body;
}

std::optional<std::string_view> DerReader::ObjectIdentifier() {
  const auto element = Next(kDerObjectIdentifier);
  if (!element || !IsReadableIdentifier(element->body)) return std::nullopt;
  return element->body;
}

std::optional<std::string_view> DerReader::BitString(int* unused_bits) {
  const auto element = Next(kDerBitString);
  if (!element || element->body.empty()) return std::nullopt;
  const unsigned char unused = ByteAt(element->body, 0);
  const std::string_view bytes = element->body.substr(1);
  if (unused > 7 || (bytes.empty() && unused != 0)) return std::nullopt;
  const int mask = (1 << unused) - 1;
  if (!bytes.empty() && (ByteAt(bytes, bytes.size() - 1) & mask) != 0) return std::nullopt;
  if (unused_bits != nullptr) *unused_bits = unused;
  return bytes;
}

std::optional<std::int64_t> DerReader::Time() {
  const auto element = Next();
  if (!element) return std::nullopt;
  std::string_view text = element->body;
  if (element->tag == kDerUtcTime) {
    const auto year = Digits(text, 2);
    if (!year) return std::nullopt;
    return TimeInYear(*year < 50 ? 2000 + *year : 1900 + *year, text, false);
  }
  if (element->tag != kDerGeneralizedTime) return std::nullopt;
  const auto year = Digits(text, 4);
  if (!year) return std::nullopt;
  return TimeInYear(*year, text, true);
}

std::optional<std::int64_t> DerSmallInteger(std::string_view body) {
  if (body.empty() || body.size() > 8) return std::nullopt;
  std::uint64_t value = (ByteAt(body, 0) & 0x80) != 0 ? ~std::uint64_t{0} : 0;
  for (const char c : body) value = value << 8U | static_cast<unsigned char>(c);
  return static_cast<std::int64_t>(value);
}

}  // namespace portcullis::pki
