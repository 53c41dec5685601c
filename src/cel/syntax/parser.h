// SPDX-License-Identifier: Apache-2.0

// Parse turns text into an AST with macros expanded.
//
// Recursive descent over the tokens; reports and recovers as the generated parser of cel-go does
// (expectation sets, single-token deletion and insertion, consuming up to a follow set).
#pragma once

#include <memory>
#include <string_view>

#include "cel/issues.h"
#include "cel/syntax/ast.h"

namespace portcullis::cel {

// Finds the macro for a call shape, or null.
class MacroTable {
 public:
  virtual ~MacroTable() = default;
  virtual const Macro* FindMacro(std::string_view name, Style style, std::size_t args) const = 0;
};

struct ParseOptions {
  const MacroTable* macros = nullptr;
  bool optional_syntax = true;
  bool quoted_fields = false;
  int max_code_points = 100000;
  int max_depth = 250;
};

// Null if there are issues.
std::shared_ptr<Ast> Parse(std::string_view source, const ParseOptions& options, Issues& issues);

}  // namespace portcullis::cel
