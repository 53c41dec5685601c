// SPDX-License-Identifier: Apache-2.0

// The static estimate of what an expression can cost, for rules in custom resource definitions.
//
// Interval arithmetic over the checked AST, mirroring what evaluation will count, with sizes of
// inputs asked from a SizeEstimator. Unknown sizes are {0, kUnbounded}; arithmetic saturates.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "cel/library.h"

namespace portcullis::cel {

class Environment;
class Ast;

// Knows how large inputs can be (from a schema).
class SizeEstimator {
 public:
  virtual ~SizeEstimator() = default;
  // `path` leads from a variable to a part of its value: {"self", "items", "@items", "name"}, where
  // "@items" stands for any element, "@keys" for any key and "@values" for any value of a map. It
  // is empty, or begins with such a part, where the value was made by the expression itself.
  virtual std::optional<Range> Size(std::span<const std::string_view> path,
                                    const Type& type) const = 0;
};

Range EstimateCost(const Environment& environment, const Ast& ast, const SizeEstimator& sizes);

}  // namespace portcullis::cel
