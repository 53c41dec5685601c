#include "kube_cel/library/costs.h"

#include <cmath>

#include "cel/library/costs.h"
#include "kube_cel/libraries.h"

namespace portcullis::kube_cel {
namespace {

using cel::CallEstimate;
using cel::EstimatedArgument;
using cel::Range;
using cel::Value;

std::uint64_t Visit(json::Arena& arena, Value value) {
  switch (value.kind()) {
    case cel::Kind::kString:
    case cel::Kind::kBytes:
      return static_cast<std::uint64_t>(static_cast<double>(cel::CostSize(value)) * 0.1);
    case cel::Kind::kList: {
      std::uint64_t cost = 0;
      const std::size_t size = value.size();
      for (std::size_t i = 0; i < size; ++i) cost += Visit(arena, value.At(arena, i));
      return cost;
    }
    case cel::Kind::kMap: {
      std::uint64_t cost = 0;
      const std::size_t size = value.size();
      for (std::size_t i = 0; i < size; ++i) {
        cost += Visit(arena, value.KeyAt(arena, i)) + Visit(arena, value.ValueAt(arena, i));
      }
      return cost;
    }
    default:
      return 1;
  }
}

// The joined text twice: once read, once written.
std::uint64_t JoinedCost(std::span<const Value>, Value result) {
  return cel::ScaledCost(cel::CostSize(result), 0.2);
}

std::optional<CallEstimate> EstimateJoined(std::span<const EstimatedArgument* const> args) {
  const Range elements = args[0]->size();
  Range size = elements * args[0]->element_size();
  if (args.size() > 1) {
    const Range gaps = {elements.min > 0 ? elements.min - 1 : 0,
                        elements.max > 0 ? elements.max - 1 : 0};
    size = size + gaps * args[1]->size();
  }
  return CallEstimate{cel::ScaleByFactor(size, 0.1), size};
}

std::optional<CallEstimate> EstimateReplace(std::span<const EstimatedArgument* const> args) {
  const Range size = args[0]->size();
  // The longest result: the shortest text replaced everywhere by the longest.
  Range result = size;
  if (args.size() >= 3) {
    const Range by = args[2]->size();
    const Range old = args[1]->size();
    const std::uint64_t places =
        old.min == 0 ? size.max + (size.max != cel::kUnbounded ? 1 : 0) : size.max / old.min;
    result = Range{0, size.max} + Range{0, places} * Range{0, by.max};
  }
  return CallEstimate{cel::ScaleByFactor(size, 0.2), result};
}

constexpr cel::CostByName kCosts[] = {
    {.function = "lowerAscii", .cost = &TextCost, .estimate = &EstimateText},
    {.function = "upperAscii", .cost = &TextCost, .estimate = &EstimateText},
    {.function = "substring", .cost = &TextCost, .estimate = &EstimateText},
    {.function = "trim", .cost = &TextCost, .estimate = &EstimateText},
    {.function = "replace", .cost = &TwiceTextCost, .estimate = &EstimateReplace},
    {.function = "split", .cost = &TwiceTextCost, .estimate = &EstimateTwiceText},
    {.function = "join", .cost = &JoinedCost, .estimate = &EstimateJoined},
};

}  // namespace

std::uint64_t TextCost(std::span<const Value> args, Value) {
  return cel::ScaledCost(cel::CostSize(args[0]), 0.1);
}

std::uint64_t TwiceTextCost(std::span<const Value> args, Value) {
  return cel::ScaledCost(cel::CostSize(args[0]), 0.2);
}

std::uint64_t VisitCost(std::span<const Value> args, Value) {
  json::Arena arena;
  return Visit(arena, args[0]);
}

std::optional<CallEstimate> EstimateText(std::span<const EstimatedArgument* const> args) {
  const Range size = args[0]->size();
  return CallEstimate{cel::ScaleByFactor(size, 0.1), size};
}

std::optional<CallEstimate> EstimateTwiceText(std::span<const EstimatedArgument* const> args) {
  const Range size = args[0]->size();
  return CallEstimate{cel::ScaleByFactor(size, 0.2), Range{0, size.max}};
}

std::optional<CallEstimate> EstimateVisit(std::span<const EstimatedArgument* const> args) {
  const Range size = args[0]->size();
  // Texts are walked besides being visited.
  const Range each = Range{1, 1} + cel::ScaleByFactor(args[0]->element_size(), 0.1);
  return CallEstimate{size * each, std::nullopt};
}

constinit const cel::Library kCostLibrary = {.name = "kubernetes.costs", .costs = kCosts};

}  // namespace portcullis::kube_cel
