// SPDX-License-Identifier: Apache-2.0

#include "cel/library/time_zone.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "cel/time_text.h"
#include "golang/strconv.h"
#include "golang/time.h"

namespace portcullis::cel {
namespace {

constexpr std::array<std::string_view, 3> kFolders = {
    "/usr/share/zoneinfo/", "/usr/share/lib/zoneinfo/", "/usr/lib/locale/TZ/"};
constexpr std::size_t kMaxFile = 1 << 20;

std::int64_t BigEndian(std::string_view data, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value = value << 8 | static_cast<unsigned char>(data[at + i]);
  }
  if (size == 4) return static_cast<std::int32_t>(value);
  return static_cast<std::int64_t>(value);
}

// --- The rule at the end of a zone file: POSIX TZ, `CET-1CEST,M3.5.0,M10.5.0/3` ---

class Rule {
 public:
  explicit Rule(std::string_view text) : text_(text) {}

  std::optional<std::int64_t> Offset(std::int64_t seconds) {
    if (!Name()) return std::nullopt;
    const std::int64_t standard = -Time();
    if (text_.empty()) return bad_ ? std::nullopt : std::optional(standard);
    if (!Name()) return std::nullopt;
    std::int64_t daylight = standard + 3600;
    if (!text_.empty() && text_[0] != ',') daylight = -Time();
    const std::int64_t year = golang::ToCivil(seconds + standard).year;
    const std::int64_t begin = Change(year) - standard;
    const std::int64_t end = Change(year) - daylight;
    if (bad_) return std::nullopt;
    const bool inside =
        begin < end ? seconds >= begin && seconds < end : seconds >= begin || seconds < end;
    return inside ? daylight : standard;
  }

 private:
  bool Name() {
    std::size_t at = 0;
    if (!text_.empty() && text_[0] == '<') {
      at = text_.find('>');
      if (at == std::string_view::npos) return false;
      ++at;
    } else {
      while (at < text_.size() && ((text_[at] | 0x20) >= 'a' && (text_[at] | 0x20) <= 'z')) ++at;
    }
    text_.remove_prefix(at);
    return at > 0;
  }

  std::int64_t Number() {
    std::int64_t value = 0;
    bool any = false;
    while (!text_.empty() && text_[0] >= '0' && text_[0] <= '9' && value < 100000) {
      value = value * 10 + (text_[0] - '0');
      text_.remove_prefix(1);
      any = true;
    }
    bad_ = bad_ || !any;
    return value;
  }

  bool Skip(char c) {
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  std::int64_t Time() {
    const bool negative = Skip('-');
    if (!negative) Skip('+');
    std::int64_t value = Number() * 3600;
    if (Skip(':')) value += Number() * 60;
    if (Skip(':')) value += Number();
    return negative ? -value : value;
  }

  // Local seconds since the epoch of the next rule in `year`.
  std::int64_t Change(std::int64_t year) {
    bad_ = bad_ || !Skip(',');
    std::int64_t day = 0;
    const std::int64_t first = golang::FromCivil(year, 1, 1, 0, 0, 0);
    if (Skip('M')) {
      const auto month = static_cast<int>(Number());
      bad_ = bad_ || !Skip('.');
      const std::int64_t week = Number();
      bad_ = bad_ || !Skip('.');
      const std::int64_t weekday = Number();
      if (bad_ || month < 1 || month > 12) return 0;
      const std::int64_t start = golang::FromCivil(year, month, 1, 0, 0, 0);
      const std::int64_t next = month == 12 ? golang::FromCivil(year + 1, 1, 1, 0, 0, 0)
                                            : golang::FromCivil(year, month + 1, 1, 0, 0, 0);
      day = start + (weekday - golang::ToCivil(start).weekday + 7) % 7 * 86400 +
            (week - 1) * 7 * 86400;
      while (day >= next) day -= 7 * 86400;
    } else if (Skip('J')) {
      day = first + (Number() - 1) * 86400;
      const bool leap = golang::FromCivil(year, 3, 1, 0, 0, 0) - first == 60 * 86400;
      if (leap && day >= first + 59 * 86400) day += 86400;
    } else {
      day = first + Number() * 86400;
    }
    return day + (Skip('/') ? Time() : 7200);
  }

  std::string_view text_;
  bool bad_ = false;
};

// --- TZif ---

struct Counts {
  std::size_t utc = 0;
  std::size_t standard = 0;
  std::size_t leap = 0;
  std::size_t transitions = 0;
  std::size_t types = 0;
  std::size_t chars = 0;
  std::size_t BodySize(std::size_t time_size) const {
    return transitions * (time_size + 1) + types * 6 + chars + leap * (time_size + 4) + standard +
           utc;
  }
};

constexpr std::size_t kHeader = 44;

std::optional<Counts> ReadHeader(std::string_view data) {
  if (data.size() < kHeader || data.substr(0, 4) != "TZif") return std::nullopt;
  std::array<std::size_t, 6> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::int64_t number = BigEndian(data, 20 + 4 * i, 4);
    if (number < 0 || number > 1 << 16) return std::nullopt;
    numbers[i] = static_cast<std::size_t>(number);
  }
  return Counts{numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]};
}

std::optional<std::int64_t> LookUp(std::string_view data, std::int64_t seconds) {
  auto counts = ReadHeader(data);
  if (!counts) return std::nullopt;
  std::size_t time_size = 4;
  if (data[4] >= '2') {  // the second part repeats everything with 64-bit times
    const std::size_t first = kHeader + counts->BodySize(4);
    if (data.size() < first) return std::nullopt;
    data.remove_prefix(first);
    counts = ReadHeader(data);
    time_size = 8;
    if (!counts) return std::nullopt;
  }
  if (data.size() < kHeader + counts->BodySize(time_size) || counts->types == 0) {
    return std::nullopt;
  }
  const std::string_view times = data.substr(kHeader);
  const std::string_view indexes = times.substr(counts->transitions * time_size);
  const std::string_view types = indexes.substr(counts->transitions);
  std::size_t low = 0;
  std::size_t high = counts->transitions;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (BigEndian(times, middle * time_size, time_size) <= seconds) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == counts->transitions && time_size == 8) {
    std::string_view rule = data.substr(kHeader + counts->BodySize(time_size));
    if (rule.size() >= 2 && rule[0] == '\n') {
      rule.remove_prefix(1);
      rule = rule.substr(0, rule.find('\n'));
      if (!rule.empty()) {
        if (const auto offset = Rule(rule).Offset(seconds)) return offset;
      }
    }
  }
  // Before the first transition: the first type that is no daylight saving time.
  std::size_t type = 0;
  if (low > 0) {
    type = static_cast<unsigned char>(indexes[low - 1]);
  } else {
    while (type + 1 < counts->types && types[type * 6 + 4] != 0) ++type;
  }
  if (type >= counts->types) return std::nullopt;
  return BigEndian(types, type * 6, 4);
}

bool IsSafeName(std::string_view zone) {
  return zone.find("..") == std::string_view::npos && !zone.starts_with('/') &&
         !zone.starts_with('\\') && zone.find('\0') == std::string_view::npos;
}

// The file of a named zone; empty if there is none, or the name is one without file.
std::string ReadZone(std::string_view zone) {
  const bool none = zone.empty() || zone == "UTC" || zone == "Local" ||
                    zone.find(':') != std::string_view::npos || !IsSafeName(zone);
  if (none) return "";
  for (const std::string_view folder : kFolders) {
    auto data = base::ReadFile(std::string(folder) + std::string(zone), kMaxFile);
    if (data.ok() && !data->empty()) return std::move(*data);
  }
  return "";
}

}  // namespace

base::Result<std::int64_t> ZoneFile::Offset(std::int64_t seconds) const {
  if (const auto offset = LookUp(data_, seconds)) return *offset;
  return base::ConfigError("malformed time zone information");
}

base::Result<std::shared_ptr<const Prepared>> PrepareZone(std::span<const Value> args) {
  std::shared_ptr<const Prepared> prepared;
  if (args.size() < 2 || !args[1].is_string()) return prepared;
  std::string data = ReadZone(args[1].text());
  if (!data.empty()) prepared = std::make_shared<ZoneFile>(std::move(data));
  return prepared;
}

base::Result<std::int64_t> ZoneOffset(std::string_view zone, std::int64_t seconds) {
  if (const auto colon = zone.find(':'); colon != std::string_view::npos) {
    std::string_view hours = zone.substr(0, colon);
    const bool negative = hours.starts_with('-');
    const std::int64_t hour = TRY(golang::Atoi(hours));
    const std::int64_t minute = TRY(golang::Atoi(zone.substr(colon + 1)));
    return hour * 3600 + (negative ? -minute : minute) * 60;
  }
  if (zone.empty() || zone == "UTC" || zone == "Local") return 0;
  if (!IsSafeName(zone)) return base::ConfigError("time: invalid location name");
  std::string data = ReadZone(zone);
  if (data.empty()) return base::ConfigError("unknown time zone " + std::string(zone));
  return ZoneFile(std::move(data)).Offset(seconds);
}

}  // namespace portcullis::cel
