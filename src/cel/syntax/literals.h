// SPDX-License-Identifier: Apache-2.0

// Words, numbers and operators of the grammar.
#pragma once

#include <cstdint>
#include <string_view>

#include "cel/syntax/token.h"

namespace portcullis::cel {

// Decimal, or hexadecimal after `0x`, without sign. False if it does not fit.
bool ParseDigits(std::string_view text, std::uint64_t& value);
// False if it is too large; too small reads as zero.
bool ParseDouble(std::string_view text, double& value);
// Is the word reserved, so that it cannot be an identifier?
bool IsReservedWord(std::string_view word);

// The function behind a binary operator's token.
std::string_view OperatorOf(Token token);

}  // namespace portcullis::cel
