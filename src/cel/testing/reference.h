// SPDX-License-Identifier: Apache-2.0

// A slow, obvious interpreter of checked expressions: the oracle of the property tests.
//
// It walks the AST as the language describes it. Comprehensions run in their general form
// (condition, step, result), never in the shapes that the planner knows, and every step is counted
// by the rules of the cost model as they are written. Do not make it clever.
#pragma once

#include "cel/environment.h"
#include "cel/program.h"
#include "cel/syntax/ast.h"

namespace portcullis::cel::testing {

Outcome Interpret(const Environment& environment, const Ast& ast, const Activation& activation,
                  json::Arena& arena);

}  // namespace portcullis::cel::testing
