// SPDX-License-Identifier: Apache-2.0

// Rows of the tables that several libraries have alike, and what stands in them.
#pragma once

#include <span>
#include <string_view>

#include "cel/library.h"
#include "kube_cel/library/costs.h"

namespace portcullis::kube_cel {

// A method that costs what calls cost.
constexpr cel::Function Method(std::string_view name, std::string_view id,
                               std::string_view signature, cel::FunctionImpl impl,
                               std::string_view doc, std::string_view example) {
  return {.name = name,
          .id = id,
          .style = cel::Style::kMember,
          .signature = signature,
          .impl = impl,
          .doc = doc,
          .example = example};
}

// A function that reads a text.
constexpr cel::Function Reader(std::string_view name, std::string_view id,
                               std::string_view signature, cel::FunctionImpl impl,
                               std::string_view doc, std::string_view example) {
  cel::Function row = Method(name, id, signature, impl, doc, example);
  row.style = cel::Style::kGlobal;
  row.cost = &TextCost;
  row.cost_scope = cel::CostScope::kFunction;
  row.estimate = &EstimateRead;
  return row;
}

constexpr cel::Function Since(int release, cel::Function row) {
  row.since = release;
  return row;
}

// isGreaterThan(), isLessThan() and compareTo() of what `kOf` finds in a value.
template <auto kOf>
cel::Value IsGreaterThan(cel::EvalContext&, std::span<const cel::Value> args) {
  return cel::Value::Bool(kOf(args[0]) > kOf(args[1]));
}
template <auto kOf>
cel::Value IsLessThan(cel::EvalContext&, std::span<const cel::Value> args) {
  return cel::Value::Bool(kOf(args[0]) < kOf(args[1]));
}
template <auto kOf>
cel::Value CompareTo(cel::EvalContext&, std::span<const cel::Value> args) {
  const auto order = kOf(args[0]) <=> kOf(args[1]);
  return cel::Value::Int(order < 0 ? -1 : order > 0 ? 1 : 0);
}

}  // namespace portcullis::kube_cel
