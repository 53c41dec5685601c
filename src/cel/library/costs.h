// SPDX-License-Identifier: Apache-2.0

// Costs that several libraries share. `ceil(0.1 × size)` is the price of walking a text once.
#pragma once

#include <cstdint>
#include <span>

#include "cel/library.h"

namespace portcullis::cel {

// ceil(size × factor), as a double computation like the cost model's.
std::uint64_t ScaledCost(std::uint64_t size, double factor);

std::uint64_t TraversalCost(std::span<const Value> args, Value result);  // of the first argument
std::uint64_t SmallerTraversalCost(std::span<const Value> args, Value result);
std::uint64_t JoinCost(std::span<const Value> args, Value result);       // both arguments
std::uint64_t RegexCost(std::span<const Value> args, Value result);      // text × pattern
std::uint64_t SubstringCost(std::span<const Value> args, Value result);  // text × text
std::uint64_t ScanCost(std::span<const Value> args, Value result);       // size of the second

std::optional<CallEstimate> EstimateTraversal(std::span<const EstimatedArgument* const> args);
std::optional<CallEstimate> EstimateToBytes(std::span<const EstimatedArgument* const> args);
std::optional<CallEstimate> EstimateFromBytes(std::span<const EstimatedArgument* const> args);
std::optional<CallEstimate> EstimateQuote(std::span<const EstimatedArgument* const> args);
std::optional<CallEstimate> EstimateArgumentTraversal(
    std::span<const EstimatedArgument* const> args);
std::optional<CallEstimate> EstimateSmallerTraversal(
    std::span<const EstimatedArgument* const> args);
std::optional<CallEstimate> EstimateJoin(std::span<const EstimatedArgument* const> args);
std::optional<CallEstimate> EstimateJoinLists(std::span<const EstimatedArgument* const> args);
std::optional<CallEstimate> EstimateRegex(std::span<const EstimatedArgument* const> args);
std::optional<CallEstimate> EstimateSubstring(std::span<const EstimatedArgument* const> args);
std::optional<CallEstimate> EstimateScan(std::span<const EstimatedArgument* const> args);

}  // namespace portcullis::cel
