// SPDX-License-Identifier: Apache-2.0

// Costs that several of these libraries share.
#pragma once

#include <span>

#include "cel/library.h"

namespace portcullis::kube_cel {

// ceil(0.1 × size) of the first argument, and twice that. EstimateText() takes the result to be as
// long as the argument.
std::uint64_t TextCost(std::span<const cel::Value> args, cel::Value result);
std::uint64_t TwiceTextCost(std::span<const cel::Value> args, cel::Value result);
// Every element visited once: 1 for a scalar, a tenth of the length of a text.
std::uint64_t VisitCost(std::span<const cel::Value> args, cel::Value result);

std::optional<cel::CallEstimate> EstimateText(std::span<const cel::EstimatedArgument* const> args);
// The same costs of a function whose result is of no known size: what reads a text.
std::optional<cel::CallEstimate> EstimateRead(std::span<const cel::EstimatedArgument* const> args);
std::optional<cel::CallEstimate> EstimateReadTwice(
    std::span<const cel::EstimatedArgument* const> args);
std::optional<cel::CallEstimate> EstimateVisit(std::span<const cel::EstimatedArgument* const> args);

}  // namespace portcullis::kube_cel
