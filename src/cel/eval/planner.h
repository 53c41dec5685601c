// SPDX-License-Identifier: Apache-2.0

// Plan makes a program from a checked (or only parsed) AST.
#pragma once

#include <memory>

#include "cel/environment.h"
#include "cel/program.h"
#include "cel/syntax/ast.h"

namespace portcullis::cel {

// Status: the text cel-go gives when a program cannot be instantiated, e.g. that of a constant
// conversion that fails.
base::Result<std::shared_ptr<const Program>> Plan(std::shared_ptr<const Environment> environment,
                                                  std::shared_ptr<const Ast> ast,
                                                  const CompileOptions& options);

}  // namespace portcullis::cel
