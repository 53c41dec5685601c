// SPDX-License-Identifier: Apache-2.0

// What an environment declares, indexed for look-up: functions with parsed signatures, macros, type
// names and variables. Built once per environment, immutable.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cel/environment.h"
#include "cel/library.h"
#include "cel/syntax/parser.h"

namespace portcullis::cel {

// Which run-time values an overload's parameter accepts. Of a list its first element is looked at, of a map
// its first entry, as in cel-go.
struct ParamCheck {
  bool any = false;          // dyn or a type parameter
  bool object = false;       // by name of the object's type
  Kind kind = Kind::kUnset;  // otherwise exactly this kind
  std::string_view name;
  const ParamCheck* key = nullptr;   // null: any
  const ParamCheck* part = nullptr;  // of an element, or an entry's value; null: any
  bool Accepts(json::Arena& arena, Value value) const;

 private:
  bool AcceptsParts(json::Arena& arena, Value value) const;
};

struct Overload {
  const Function* row = nullptr;
  std::span<const Type* const> params;  // receiver first
  const Type* result = nullptr;
  std::span<const ParamCheck> checks;
  std::span<const std::string_view> type_params;
};

struct FunctionGroup {
  std::string_view name;
  std::vector<Overload> overloads;
  ActualCost cost_by_name = nullptr;  // of a row with CostScope::kFunction, or a CostByName
  EstimateCall estimate_by_name = nullptr;
};

class Declarations final : public MacroTable {
 public:
  struct Source {
    const Library* library;
    int version;
  };
  // Everything parsed is put into `arena`. Status: the first malformed row.
  static base::Result<std::unique_ptr<const Declarations>> Build(
      json::Arena& arena, std::span<const Source> libraries, std::span<const Variable> variables);

  const FunctionGroup* FindFunction(std::string_view name) const;
  const Macro* FindMacro(std::string_view name, Style style, std::size_t args) const override;
  const Type* FindTypeName(std::string_view name) const;  // null if there is no such name
  int FindVariable(std::string_view name) const;          // -1 if there is no such name

 private:
  base::Status AddFunction(json::Arena& arena, const Function& row);

  std::unordered_map<std::string_view, FunctionGroup> functions_;
  std::unordered_map<std::string_view, std::vector<const Macro*>> macros_;
  std::unordered_map<std::string_view, const Type*> types_;
  std::unordered_map<std::string_view, int> variables_;
};

}  // namespace portcullis::cel
