// SPDX-License-Identifier: Apache-2.0

// Expanders of the macros that the language has.
#pragma once

#include "cel/syntax/macros.h"

namespace portcullis::cel::macro {

using Args = std::span<Expr* const>;

Expr* Has(MacroContext& context, Expr* target, Args args);
Expr* All(MacroContext& context, Expr* target, Args args);
Expr* Exists(MacroContext& context, Expr* target, Args args);
Expr* ExistsOne(MacroContext& context, Expr* target, Args args);
Expr* Map(MacroContext& context, Expr* target, Args args);
Expr* Filter(MacroContext& context, Expr* target, Args args);

}  // namespace portcullis::cel::macro
