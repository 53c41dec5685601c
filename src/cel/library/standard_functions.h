// SPDX-License-Identifier: Apache-2.0

// Implementations behind the rows of the standard library.
#pragma once

#include "cel/library.h"
#include "cel/program.h"

namespace portcullis::cel::standard {

Value Identity(EvalContext& context, std::span<const Value> args);
Value ToBool(EvalContext& context, std::span<const Value> args);
Value ToBytes(EvalContext& context, std::span<const Value> args);
Value ToDouble(EvalContext& context, std::span<const Value> args);
Value ToDuration(EvalContext& context, std::span<const Value> args);
Value ToInt(EvalContext& context, std::span<const Value> args);
Value ToText(EvalContext& context, std::span<const Value> args);
Value ToTimestamp(EvalContext& context, std::span<const Value> args);
Value ToUint(EvalContext& context, std::span<const Value> args);
Value ToType(EvalContext& context, std::span<const Value> args);

Value Size(EvalContext& context, std::span<const Value> args);
Value In(EvalContext& context, std::span<const Value> args);
Value ContainsText(EvalContext& context, std::span<const Value> args);
Value StartsWith(EvalContext& context, std::span<const Value> args);
Value EndsWith(EvalContext& context, std::span<const Value> args);
Value Matches(EvalContext& context, std::span<const Value> args);

// Of a timestamp, in an optional zone.
Value FullYear(EvalContext& context, std::span<const Value> args);
Value Month(EvalContext& context, std::span<const Value> args);
Value DayOfYear(EvalContext& context, std::span<const Value> args);
Value DayOfMonth(EvalContext& context, std::span<const Value> args);
Value Date(EvalContext& context, std::span<const Value> args);
Value DayOfWeek(EvalContext& context, std::span<const Value> args);
// Of a timestamp, or the whole duration in that unit.
Value Hours(EvalContext& context, std::span<const Value> args);
Value Minutes(EvalContext& context, std::span<const Value> args);
Value Seconds(EvalContext& context, std::span<const Value> args);
Value Milliseconds(EvalContext& context, std::span<const Value> args);

}  // namespace portcullis::cel::standard
