// SPDX-License-Identifier: Apache-2.0

#include "registry/batch/schedule.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/gotext.h"
#include "base/strings.h"
#include "golang/strconv.h"
#include "golang/strings.h"
#include "golang/time.h"

namespace portcullis::registry {
namespace {

struct Bounds {
  std::int64_t least;
  std::int64_t most;
  std::string_view names;  // three letters each, from `least` on
};
constexpr std::array<Bounds, 5> kFields = {{{0, 59, ""},
                                            {0, 23, ""},
                                            {1, 31, ""},
                                            {1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
                                            {0, 6, "sunmontuewedthufrisat"}}};
constexpr std::string_view kDescriptors[] = {"@yearly", "@annually", "@monthly", "@weekly",
                                             "@daily",  "@midnight", "@hourly"};

// A number or the text of what is wrong.
struct Number {
  std::int64_t value = 0;
  std::string error;
};

Number ParseNumber(std::string_view text) {
  const auto number = golang::Atoi(text);
  if (!number.ok()) {
    return {0, base::StrCat("failed to parse int from ", text, ": ", number.status().message())};
  }
  if (*number < 0) {
    return {0, base::StrCat("negative number (", std::to_string(*number), ") not allowed: ", text)};
  }
  return {*number, ""};
}

Number ParseNumberOrName(std::string_view text, const Bounds& bounds) {
  const std::string lower = base::ToLower(text);
  for (std::size_t i = 0; lower.size() == 3 && i + 3 <= bounds.names.size(); i += 3) {
    if (bounds.names.substr(i, 3) == lower) {
      return {bounds.least + static_cast<std::int64_t>(i / 3), ""};
    }
  }
  return ParseNumber(text);
}

// The values of one field.
struct Values {
  std::uint64_t bits = 0;
  bool any = false;  // `*`
};

std::string ReadRange(std::string_view expression, const Bounds& bounds, Values& values) {
  const auto range_and_step = base::Split(expression, '/');
  const auto low_and_high = base::Split(range_and_step[0], '-');
  std::int64_t low = bounds.least;
  std::int64_t high = bounds.most;
  const bool single = low_and_high.size() == 1;
  bool any = true;
  if (low_and_high[0] != "*" && low_and_high[0] != "?") {
    const Number first = ParseNumberOrName(low_and_high[0], bounds);
    if (!first.error.empty()) return first.error;
    low = high = first.value;
    any = false;
    if (low_and_high.size() == 2) {
      const Number last = ParseNumberOrName(low_and_high[1], bounds);
      if (!last.error.empty()) return last.error;
      high = last.value;
    } else if (!single) {
      return base::StrCat("too many hyphens: ", expression);
    }
  }
  std::int64_t step = 1;
  if (range_and_step.size() == 2) {
    const Number number = ParseNumber(range_and_step[1]);
    if (!number.error.empty()) return number.error;
    step = number.value;
    if (single) high = bounds.most;
  } else if (range_and_step.size() > 2) {
    return base::StrCat("too many slashes: ", expression);
  }
  const auto text = [](std::int64_t number) { return std::to_string(number); };
  if (low < bounds.least) {
    return base::StrCat("beginning of range (", text(low), ") below minimum (", text(bounds.least),
                        "): ", expression);
  }
  if (high > bounds.most) {
    return base::StrCat("end of range (", text(high), ") above maximum (", text(bounds.most),
                        "): ", expression);
  }
  if (low > high) {
    return base::StrCat("beginning of range (", text(low), ") beyond end of range (", text(high),
                        "): ", expression);
  }
  if (step == 0) {
    return base::StrCat("step of range should be a positive number: ", expression);
  }
  for (std::int64_t value = low; value <= high; value += step) values.bits |= 1ull << value;
  values.any |= any && step == 1;
  return "";
}

std::string CheckDescriptor(std::string_view descriptor) {
  for (const std::string_view known : kDescriptors) {
    if (known == descriptor) return "";
  }
  constexpr std::string_view kEvery = "@every ";
  if (descriptor.starts_with(kEvery)) {
    const std::string_view duration = descriptor.substr(kEvery.size());
    if (golang::ParseDuration(duration).ok()) return "";
    return base::StrCat("failed to parse duration ", descriptor, ": time: invalid duration ",
                        base::GoQuote(duration));
  }
  return base::StrCat("unrecognized descriptor: ", descriptor);
}

// Without "TZ=…".
std::string_view WithoutZone(std::string_view schedule) {
  for (const std::string_view prefix : {"TZ=", "CRON_TZ="}) {
    if (!schedule.starts_with(prefix)) continue;
    const std::size_t space = schedule.find(' ');
    if (space == std::string_view::npos) break;
    schedule = golang::TrimSpace(schedule.substr(space));
  }
  return schedule;
}

std::string ReadFields(std::string_view schedule, std::array<Values, 5>& values) {
  std::vector<std::string_view> fields;
  for (const std::string_view field : base::Split(schedule, ' ')) {
    if (!field.empty()) fields.push_back(field);
  }
  if (fields.size() != kFields.size()) {
    return base::StrCat("expected exactly 5 fields, found ", std::to_string(fields.size()), ": [",
                        base::Join(fields, " "), "]");
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    for (const std::string_view expression : base::Split(fields[i], ',')) {
      if (expression.empty()) continue;
      std::string error = ReadRange(expression, kFields[i], values[i]);
      if (!error.empty()) return error;
    }
  }
  return "";
}

// What a descriptor stands for.
std::string_view FieldsOf(std::string_view descriptor) {
  if (descriptor == "@yearly" || descriptor == "@annually") return "0 0 1 1 *";
  if (descriptor == "@monthly") return "0 0 1 * *";
  if (descriptor == "@weekly") return "0 0 * * 0";
  if (descriptor == "@hourly") return "0 * * * *";
  return "0 0 * * *";
}

constexpr std::int64_t kDay = 86400;
constexpr int kMostDays = 5 * 366;

bool Has(std::uint64_t bits, int value) { return (bits >> value & 1) != 0; }

}  // namespace

std::string CheckSchedule(std::string_view schedule) {
  if (schedule.empty()) return "empty spec string";
  schedule = WithoutZone(schedule);
  if (schedule.starts_with("@")) return CheckDescriptor(schedule);
  std::array<Values, 5> values;
  return ReadFields(schedule, values);
}

std::optional<Schedule> Schedule::Parse(std::string_view text) {
  if (!CheckSchedule(text).empty()) return std::nullopt;
  text = WithoutZone(text);
  Schedule schedule;
  if (text.starts_with("@every ")) {
    const auto nanoseconds = golang::ParseDuration(text.substr(7));
    if (!nanoseconds.ok()) return std::nullopt;
    schedule.every_ = std::max<std::int64_t>(*nanoseconds / 1'000'000'000, 1);
    return schedule;
  }
  if (text.starts_with("@")) text = FieldsOf(text);
  std::array<Values, 5> values;
  if (!ReadFields(text, values).empty()) return std::nullopt;
  for (std::size_t i = 0; i < values.size(); ++i) schedule.bits_[i] = values[i].bits;
  schedule.any_day_ = values[2].any;
  schedule.any_weekday_ = values[4].any;
  return schedule;
}

bool Schedule::IsDay(std::int64_t day_begin) const {
  const golang::CivilTime time = golang::ToCivil(day_begin);
  if (!Has(bits_[3], time.month)) return false;
  const bool day = Has(bits_[2], time.day);
  const bool weekday = Has(bits_[4], time.weekday);
  // Where both are restricted, either will do.
  return any_day_ || any_weekday_ ? day && weekday : day || weekday;
}

std::optional<std::int64_t> Schedule::Next(std::int64_t after) const {
  if (every_ != 0) return after + every_;
  std::int64_t from = (after / 60 + 1) * 60;
  for (int days = 0; days < kMostDays; ++days) {
    const std::int64_t day = from / kDay * kDay;
    const std::int64_t end = IsDay(day) ? day + kDay : from;
    for (std::int64_t at = from; at < end; at += 60) {
      const auto minute = static_cast<int>((at - day) / 60);
      if (Has(bits_[1], minute / 60) && Has(bits_[0], minute % 60)) return at;
    }
    from = day + kDay;
  }
  return std::nullopt;
}

}  // namespace portcullis::registry
