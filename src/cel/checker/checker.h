// SPDX-License-Identifier: Apache-2.0

// Check resolves names and overloads and infers the type of every node, gradually: what is unknown
// is `dyn` and decided when evaluated. Ordinary type errors are issues.
#pragma once

#include "cel/environment.h"
#include "cel/issues.h"
#include "cel/syntax/ast.h"

namespace portcullis::cel {

void Check(const Environment& environment, Ast& ast, Issues& issues);

// The checks that Kubernetes adds to a well-typed expression: homogeneous literals, and constant
// arguments of duration(), timestamp(), matches() and format().
void Validate(const Environment& environment, const Ast& ast, Issues& issues);

// `a.b.c` if the expression is a chain of plain selections from an identifier, else "".
std::string QualifiedName(const Expr* expr);

// A container's candidates for a name, innermost first.
std::vector<std::string> CandidateNames(std::string_view container, std::string_view name);

}  // namespace portcullis::cel
