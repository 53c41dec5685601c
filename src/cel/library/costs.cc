// SPDX-License-Identifier: Apache-2.0

#include "cel/library/costs.h"

#include <algorithm>
#include <cmath>

namespace portcullis::cel {
namespace {

constexpr double kTextFactor = 0.1;
constexpr double kPatternFactor = 0.25;

std::uint64_t SaturatingAdd(std::uint64_t a, std::uint64_t b) {
  return a > kUnbounded - b ? kUnbounded : a + b;
}
std::uint64_t SaturatingMultiply(std::uint64_t a, std::uint64_t b) {
  std::uint64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? kUnbounded : result;
}
std::uint64_t SaturatingScale(std::uint64_t value, double factor) {
  const double product = std::ceil(static_cast<double>(value) * factor);
  return product >= 18446744073709551615.0 ? kUnbounded : static_cast<std::uint64_t>(product);
}

}  // namespace

Range operator+(Range a, Range b) {
  return {SaturatingAdd(a.min, b.min), SaturatingAdd(a.max, b.max)};
}
Range operator*(Range a, Range b) {
  return {SaturatingMultiply(a.min, b.min), SaturatingMultiply(a.max, b.max)};
}
Range ScaleByFactor(Range range, double factor) {
  return {SaturatingScale(range.min, factor), SaturatingScale(range.max, factor)};
}
Range Union(Range a, Range b) { return {std::min(a.min, b.min), std::max(a.max, b.max)}; }

std::uint64_t ScaledCost(std::uint64_t size, double factor) {
  return static_cast<std::uint64_t>(std::ceil(static_cast<double>(size) * factor));
}

std::uint64_t TraversalCost(std::span<const Value> args, Value) {
  return ScaledCost(CostSize(args[0]), kTextFactor);
}
std::uint64_t SmallerTraversalCost(std::span<const Value> args, Value) {
  return ScaledCost(std::min(CostSize(args[0]), CostSize(args[1])), kTextFactor);
}
std::uint64_t JoinCost(std::span<const Value> args, Value) {
  return ScaledCost(CostSize(args[0]) + CostSize(args[1]), kTextFactor);
}
std::uint64_t RegexCost(std::span<const Value> args, Value) {
  // One more, so that an empty text does not make the pattern free.
  const double text = std::ceil((1.0 + static_cast<double>(CostSize(args[0]))) * kTextFactor);
  return static_cast<std::uint64_t>(text) * ScaledCost(CostSize(args[1]), kPatternFactor);
}
std::uint64_t SubstringCost(std::span<const Value> args, Value) {
  return ScaledCost(CostSize(args[0]), kTextFactor) * ScaledCost(CostSize(args[1]), kTextFactor);
}
std::uint64_t ScanCost(std::span<const Value> args, Value) { return CostSize(args[1]); }

std::optional<CallEstimate> EstimateTraversal(std::span<const EstimatedArgument* const> args) {
  return CallEstimate{ScaleByFactor(args[0]->size(), kTextFactor), std::nullopt};
}
std::optional<CallEstimate> EstimateToBytes(std::span<const EstimatedArgument* const> args) {
  const Range size = args[0]->size();
  const Range bytes = {size.min, SaturatingMultiply(size.max, 4)};
  return CallEstimate{ScaleByFactor(size, kTextFactor), bytes};
}
std::optional<CallEstimate> EstimateFromBytes(std::span<const EstimatedArgument* const> args) {
  const Range size = args[0]->size();
  return CallEstimate{ScaleByFactor(size, kTextFactor), Range{size.min / 4, size.max}};
}
std::optional<CallEstimate> EstimateQuote(std::span<const EstimatedArgument* const> args) {
  const Range size = args[0]->size();
  const Range quoted = {SaturatingAdd(size.min, 2),
                        SaturatingAdd(SaturatingMultiply(size.max, 2), 2)};
  return CallEstimate{ScaleByFactor(size, kTextFactor), quoted};
}
std::optional<CallEstimate> EstimateArgumentTraversal(
    std::span<const EstimatedArgument* const> args) {
  return CallEstimate{ScaleByFactor(args[1]->size(), kTextFactor), std::nullopt};
}
std::optional<CallEstimate> EstimateSmallerTraversal(
    std::span<const EstimatedArgument* const> args) {
  const Range a = args[0]->size();
  const Range b = args[1]->size();
  // The shorter of the two decides; when nothing is known of one, the other is the bound.
  const std::uint64_t most = std::min(a.max, b.max);
  const Range size = {most > 0 ? std::uint64_t{1} : 0, most};
  return CallEstimate{ScaleByFactor(size, kTextFactor), std::nullopt};
}
std::optional<CallEstimate> EstimateJoin(std::span<const EstimatedArgument* const> args) {
  const Range size = args[0]->size() + args[1]->size();
  return CallEstimate{ScaleByFactor(size, kTextFactor), size};
}
std::optional<CallEstimate> EstimateJoinLists(std::span<const EstimatedArgument* const> args) {
  return CallEstimate{{1, 1}, args[0]->size() + args[1]->size()};
}
std::optional<CallEstimate> EstimateRegex(std::span<const EstimatedArgument* const> args) {
  const Range text = ScaleByFactor(args[0]->size() + Range{1, 1}, kTextFactor);
  return CallEstimate{text * ScaleByFactor(args[1]->size(), kPatternFactor), std::nullopt};
}
std::optional<CallEstimate> EstimateSubstring(std::span<const EstimatedArgument* const> args) {
  const Range text = ScaleByFactor(args[0]->size(), kTextFactor);
  return CallEstimate{text * ScaleByFactor(args[1]->size(), kTextFactor), std::nullopt};
}
std::optional<CallEstimate> EstimateScan(std::span<const EstimatedArgument* const> args) {
  return CallEstimate{args[1]->size(), std::nullopt};
}

}  // namespace portcullis::cel
