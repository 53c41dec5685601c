// SPDX-License-Identifier: Apache-2.0

// Unparse turns an AST back into text: operators with the parentheses they need, macros as they
// were written.
#pragma once

#include <string>

#include "cel/syntax/ast.h"

namespace portcullis::cel {

std::string Unparse(const Expr& expr);

}  // namespace portcullis::cel
