// SPDX-License-Identifier: Apache-2.0

// The operators that have an implementation on values: name, function, and which left operands have
// the operation at all.
#pragma once

#include <cstdint>
#include <string_view>

#include "cel/eval/node.h"

namespace portcullis::cel {

struct Operator {
  std::string_view name;
  OperatorNode::Binary apply;
  std::uint32_t kinds;  // bits of Kind
};

// Null if there is no such operator.
const Operator* FindOperator(std::string_view name);

}  // namespace portcullis::cel
