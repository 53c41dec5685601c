// SPDX-License-Identifier: Apache-2.0

// The comprehensions that one-variable and two-variable macros share; `name2` is "" for the former.
#pragma once

#include "cel/syntax/macros.h"

namespace portcullis::cel {

Expr* MakeAll(MacroContext& context, Expr* range, std::string_view name, std::string_view name2,
              Expr* predicate);
Expr* MakeExists(MacroContext& context, Expr* range, std::string_view name, std::string_view name2,
                 Expr* predicate);
Expr* MakeExistsOne(MacroContext& context, Expr* range, std::string_view name,
                    std::string_view name2, Expr* predicate);
// `filter` may be null.
Expr* MakeList(MacroContext& context, Expr* range, std::string_view name, std::string_view name2,
               Expr* filter, Expr* transform);

}  // namespace portcullis::cel
