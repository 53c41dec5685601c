// SPDX-License-Identifier: Apache-2.0

#include "cel/library/standard_functions.h"
#include "cel/library/time_zone.h"
#include "cel/time_text.h"
#include "golang/time.h"

namespace portcullis::cel::standard {
namespace {

constexpr std::int64_t kMillisecond = 1000000;
constexpr std::int64_t kSecond = 1000 * kMillisecond;

// The calendar fields of the first argument in the zone named by the second; false with `error` set
// if there is no such zone.
bool Civil(EvalContext& context, std::span<const Value> args, golang::CivilTime& civil,
           Value& error) {
  std::int64_t offset = 0;
  if (args.size() > 1) {
    const auto* zone = static_cast<const ZoneFile*>(context.prepared());
    const auto found =
        zone ? zone->Offset(args[0].seconds()) : ZoneOffset(args[1].text(), args[0].seconds());
    if (!found.ok()) {
      error = context.Error(found.status().message());
      return false;
    }
    offset = *found;
  }
  civil = golang::ToCivil(args[0].seconds() + offset);
  return true;
}

template <typename Pick>
Value Field(EvalContext& context, std::span<const Value> args, Pick pick) {
  golang::CivilTime civil;
  Value error;
  if (!Civil(context, args, civil, error)) return error;
  return Value::Int(static_cast<std::int64_t>(pick(civil)));
}

bool IsDuration(std::span<const Value> args) { return args[0].kind() == Kind::kDuration; }
Value Whole(std::span<const Value> args, std::int64_t unit) {
  return Value::Int(args[0].nanoseconds() / unit);
}

}  // namespace

Value FullYear(EvalContext& context, std::span<const Value> args) {
  return Field(context, args, [](const golang::CivilTime& t) { return t.year; });
}
Value Month(EvalContext& context, std::span<const Value> args) {
  return Field(context, args, [](const golang::CivilTime& t) { return t.month - 1; });
}
Value DayOfYear(EvalContext& context, std::span<const Value> args) {
  return Field(context, args, [](const golang::CivilTime& t) { return t.yearday; });
}
Value DayOfMonth(EvalContext& context, std::span<const Value> args) {
  return Field(context, args, [](const golang::CivilTime& t) { return t.day - 1; });
}
Value Date(EvalContext& context, std::span<const Value> args) {
  return Field(context, args, [](const golang::CivilTime& t) { return t.day; });
}
Value DayOfWeek(EvalContext& context, std::span<const Value> args) {
  return Field(context, args, [](const golang::CivilTime& t) { return t.weekday; });
}
Value Hours(EvalContext& context, std::span<const Value> args) {
  if (IsDuration(args)) return Whole(args, 3600 * kSecond);
  return Field(context, args, [](const golang::CivilTime& t) { return t.hour; });
}
Value Minutes(EvalContext& context, std::span<const Value> args) {
  if (IsDuration(args)) return Whole(args, 60 * kSecond);
  return Field(context, args, [](const golang::CivilTime& t) { return t.minute; });
}
Value Seconds(EvalContext& context, std::span<const Value> args) {
  if (IsDuration(args)) return Whole(args, kSecond);
  return Field(context, args, [](const golang::CivilTime& t) { return t.second; });
}
Value Milliseconds(EvalContext& context, std::span<const Value> args) {
  if (IsDuration(args)) return Whole(args, kMillisecond);
  return Field(context, args,
               [&](const golang::CivilTime&) { return args[0].nanos() / kMillisecond; });
}

}  // namespace portcullis::cel::standard
