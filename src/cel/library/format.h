// SPDX-License-Identifier: Apache-2.0

// `format.format([…])`: printf-like clauses over CEL values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cel/library.h"
#include "cel/program.h"

namespace portcullis::cel {

// Versions 1 to 3 of the strings library print numbers as they are written in the United States,
// version 4 prints them plainly.
enum class FormatStyle : std::uint8_t { kLocalized, kPlain };
Value FormatCall(EvalContext& context, std::span<const Value> args);
Value PlainFormatCall(EvalContext& context, std::span<const Value> args);

// A clause of a format string.
struct FormatClause {
  char verb = 's';
  int precision = -1;            // -1: none given
  std::string_view text_before;  // literal text in front of it, with %% not yet replaced
  std::size_t offset = 0;        // of the clause
};
struct FormatTemplate {
  std::vector<FormatClause> clauses;
  std::string_view text_after;
  // What is wrong behind these clauses (`could not parse formatting clause: …`), or "". Clauses are
  // filled in as they are read, so theirs are the first errors.
  std::string error;
  bool ends_in_percent = false;  // that is what is wrong
};
FormatTemplate ParseFormat(std::string_view format);

// The complaint about a clause that cannot take a value of the type, without the type's name; ""
// if it can.
std::string_view FormatComplaint(FormatStyle style, char verb, const Type* type);

}  // namespace portcullis::cel
