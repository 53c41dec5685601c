// SPDX-License-Identifier: Apache-2.0

// What the two styles of `format` have in common: the loop over the clauses, and integers.
#pragma once

#include <charconv>
#include <string>
#include <string_view>

#include "cel/library/format.h"

namespace portcullis::cel {

// Appends what the clause makes of the value. False if it cannot take it; `complaint` may say why,
// otherwise the type of the value is to blame.
using ClauseAppender = bool (*)(json::Arena& arena, const FormatClause& clause, Value value,
                                std::string& out, std::string& complaint);
Value FormatWith(EvalContext& context, std::span<const Value> args, FormatStyle style,
                 ClauseAppender append);

// What the clause can take, as a complaint says it.
std::string_view ClauseComplaint(FormatStyle style, char verb);
// The same with the value that it got instead.
std::string ClauseComplaint(FormatStyle style, char verb, Value value);

// What both styles make of the value under %s, if they agree on its kind: all but numbers that are
// no integers, timestamps, lists and maps. False for those.
bool AppendCommon(Value value, std::string& out);
// With `precision` digits behind the point.
std::string Digits(double value, std::chars_format format, int precision);
// `NaN`, `Infinity` or `-Infinity`.
std::string SpecialName(double value);
// The clauses d, b, o, x and X of integers, and of what else b, x and X take.
bool AppendInteger(char verb, Value value, std::string& out);

}  // namespace portcullis::cel
