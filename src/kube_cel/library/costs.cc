// SPDX-License-Identifier: Apache-2.0

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

// Walks a value as the cost model does. Values can share parts, so that a small one has very many:
// beyond kMaxVisits the cost is more than any budget.
class Visitor {
 public:
  std::uint64_t Cost(Value value) {
    const std::uint64_t cost = Visit(value);
    return visits_ > kMaxVisits ? kTooMuch : cost;
  }

 private:
  static constexpr std::uint64_t kMaxVisits = 4'000'000;
  static constexpr std::uint64_t kTooMuch = std::uint64_t{1} << 40;
  static constexpr int kMaxDepth = 1000;

  std::uint64_t Visit(Value value) {
    if (++visits_ > kMaxVisits) return 0;
    std::uint64_t cost = 0;
    switch (value.kind()) {
      case cel::Kind::kString:
      case cel::Kind::kBytes:
        return static_cast<std::uint64_t>(static_cast<double>(value.text().size()) * 0.1);
      case cel::Kind::kList:
      case cel::Kind::kMap:
        break;
      default:
        return 1;
    }
    if (++depth_ > kMaxDepth) visits_ = kMaxVisits;
    const bool map = value.is_map();
    for (std::size_t i = 0; i < value.size() && visits_ <= kMaxVisits; ++i) {
      if (map) cost += Visit(value.KeyAt(arena_, i));
      cost += Visit(map ? value.ValueAt(arena_, i) : value.At(arena_, i));
    }
    --depth_;
    return cost;
  }

  json::Arena arena_;
  std::uint64_t visits_ = 0;
  int depth_ = 0;
};

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

// How often a text of `size` can be cut at places `old` long.
std::uint64_t Places(std::uint64_t size, std::uint64_t old) {
  if (old == 0) return size + (size != cel::kUnbounded ? 1 : 0);  // around every character
  return static_cast<std::uint64_t>(
      std::ceil(static_cast<double>(size) / static_cast<double>(old)));
}

std::optional<CallEstimate> EstimateReplace(std::span<const EstimatedArgument* const> args) {
  const Range size = args[0]->size();
  const Range old = args[1]->size();
  const Range by = args[2]->size();
  Range places;
  Range kept;
  // The longest result: the shortest texts replaced by the longest, unless that makes it shorter.
  if (old.min == 0 || by.max <= old.min) kept.max = size.max;
  if (old.min == 0 || by.max > old.min) places.max = Places(size.max, old.min);
  // The shortest: the longest texts replaced by the shortest, unless that makes it longer.
  if (old.max == 0 || old.max <= by.min) kept.min = size.min;
  if (old.max == 0 || old.max > by.min) places.min = Places(size.min, old.max);
  return CallEstimate{cel::ScaleByFactor(size, 0.2), places * by + kept};
}

// At most one element for each character.
std::optional<CallEstimate> EstimateSplit(std::span<const EstimatedArgument* const> args) {
  const Range size = args[0]->size();
  Range parts = {0, size.max};
  if (args.size() > 2) {
    if (const auto limit = args[2]->int_literal()) parts.max = static_cast<std::uint64_t>(*limit);
  }
  return CallEstimate{cel::ScaleByFactor(size, 0.2), parts};
}

// == of two values of one of Kubernetes' types; everything else is left to the language.
std::optional<CallEstimate> EstimateEquals(std::span<const EstimatedArgument* const> args) {
  constexpr std::uint64_t kLongestFormat = 64;
  const cel::Type* type = args[0]->type();
  if (type->kind != cel::TypeKind::kOpaque || !cel::SameType(type, args[1]->type())) {
    return std::nullopt;
  }
  const std::string_view name = type->name;
  if (name == kFormatType.name) {
    return CallEstimate{cel::ScaleByFactor(Range{1, kLongestFormat}, 0.1), std::nullopt};
  }
  if (name == kUrlType.name) {
    const Range size = args[1]->known_size().value_or(Range{1, 1});
    return CallEstimate{cel::ScaleByFactor(Range{1, size.max}, 0.1), std::nullopt};
  }
  const bool simple = name == kIpType.name || name == kCidrType.name ||
                      name == kQuantityType.name || name == kSemverType.name ||
                      name.starts_with("kubernetes.authorization.");
  if (!simple) return std::nullopt;
  return CallEstimate{Range{1, 1}, std::nullopt};
}

constexpr cel::CostByName kCosts[] = {
    {.function = "lowerAscii", .cost = &TextCost, .estimate = &EstimateText},
    {.function = "upperAscii", .cost = &TextCost, .estimate = &EstimateText},
    {.function = "substring", .cost = &TextCost, .estimate = &EstimateText},
    {.function = "trim", .cost = &TextCost, .estimate = &EstimateText},
    {.function = "replace", .cost = &TwiceTextCost, .estimate = &EstimateReplace},
    {.function = "split", .cost = &TwiceTextCost, .estimate = &EstimateSplit},
    {.function = "join", .cost = &JoinedCost, .estimate = &EstimateJoined},
    {.function = "indexOf", .estimate = &EstimateVisit},
    {.function = "lastIndexOf", .estimate = &EstimateVisit},
    {.function = "_==_", .estimate = &EstimateEquals},
};

}  // namespace

std::uint64_t TextCost(std::span<const Value> args, Value) {
  return cel::ScaledCost(cel::CostSize(args[0]), 0.1);
}

std::uint64_t TwiceTextCost(std::span<const Value> args, Value) {
  return cel::ScaledCost(cel::CostSize(args[0]), 0.2);
}

std::uint64_t VisitCost(std::span<const Value> args, Value) { return Visitor().Cost(args[0]); }

std::optional<CallEstimate> EstimateText(std::span<const EstimatedArgument* const> args) {
  const Range size = args[0]->size();
  return CallEstimate{cel::ScaleByFactor(size, 0.1), size};
}

std::optional<CallEstimate> EstimateRead(std::span<const EstimatedArgument* const> args) {
  return CallEstimate{cel::ScaleByFactor(args[0]->size(), 0.1), std::nullopt};
}

std::optional<CallEstimate> EstimateReadTwice(std::span<const EstimatedArgument* const> args) {
  return CallEstimate{cel::ScaleByFactor(args[0]->size(), 0.2), std::nullopt};
}

std::optional<CallEstimate> EstimateVisit(std::span<const EstimatedArgument* const> args) {
  const Range size = args[0]->size();
  if (args[0]->type()->params.empty()) {  // a text
    return CallEstimate{cel::ScaleByFactor(size, 0.1), std::nullopt};
  }
  Range each{1, 1};
  const cel::TypeKind kind = args[0]->type()->param()->kind;
  if (kind == cel::TypeKind::kString || kind == cel::TypeKind::kBytes) {
    each = each + cel::ScaleByFactor(args[0]->element_size(), 0.1);
  }
  return CallEstimate{size * each, std::nullopt};
}

constinit const cel::Library kCostLibrary = {.name = "kubernetes.costs", .costs = kCosts};

}  // namespace portcullis::kube_cel
