// SPDX-License-Identifier: Apache-2.0

#include "cel/checker/declarations.h"

#include <algorithm>

namespace portcullis::cel {
namespace {

Kind RuntimeKind(const Type* type) {
  switch (type->kind) {
    case TypeKind::kNull:
      return Kind::kNull;
    case TypeKind::kBool:
      return Kind::kBool;
    case TypeKind::kInt:
      return Kind::kInt;
    case TypeKind::kUint:
      return Kind::kUint;
    case TypeKind::kDouble:
      return Kind::kDouble;
    case TypeKind::kString:
      return Kind::kString;
    case TypeKind::kBytes:
      return Kind::kBytes;
    case TypeKind::kTimestamp:
      return Kind::kTimestamp;
    case TypeKind::kDuration:
      return Kind::kDuration;
    case TypeKind::kList:
      return Kind::kList;
    case TypeKind::kMap:
      return Kind::kMap;
    case TypeKind::kType:
      return Kind::kType;
    default:
      return type->is_optional() ? Kind::kOptional : Kind::kObject;
  }
}

ParamCheck CheckFor(json::Arena& arena, const Type* type);

// Null if every value fits.
const ParamCheck* CheckForPart(json::Arena& arena, const Type* type) {
  const ParamCheck check = CheckFor(arena, type);
  return check.any ? nullptr : New<ParamCheck>(arena, check);
}

ParamCheck CheckFor(json::Arena& arena, const Type* type) {
  ParamCheck check;
  check.any = type->is_dyn() || type->kind == TypeKind::kParam || type->kind == TypeKind::kWrapper;
  check.kind = RuntimeKind(type);
  check.object = check.kind == Kind::kObject;
  check.name = type->name;
  if (type->kind == TypeKind::kList && !type->params.empty()) {
    check.part = CheckForPart(arena, type->param());
  } else if (type->kind == TypeKind::kMap && !type->params.empty()) {
    check.key = CheckForPart(arena, type->param(0));
    check.part = CheckForPart(arena, type->param(1));
  }
  return check;
}

void CollectParams(const Type* type, std::vector<std::string_view>& names) {
  if (type->kind == TypeKind::kParam &&
      std::find(names.begin(), names.end(), type->name) == names.end()) {
    names.push_back(type->name);
  }
  for (const Type* param : type->params) CollectParams(param, names);
}

template <typename T>
std::span<const T> Store(json::Arena& arena, const std::vector<T>& items) {
  if (items.empty()) return {};
  T* data = static_cast<T*>(arena.Allocate(items.size() * sizeof(T), alignof(T)));
  std::uninitialized_copy(items.begin(), items.end(), data);
  return {data, items.size()};
}

// Splits `(a, b(c, d)) -> e` into the texts of its types.
bool SplitSignature(std::string_view text, std::vector<std::string_view>& params,
                    std::string_view& result) {
  if (text.empty() || text[0] != '(') return false;
  int depth = 0;
  std::size_t begin = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    const bool end = text[i] == ')' && --depth == 0;
    if (end || (text[i] == ',' && depth == 1)) {
      if (i > begin) params.push_back(text.substr(begin, i - begin));
      begin = i + 2;
    }
    if (end) {
      constexpr std::string_view kArrow = " -> ";
      if (text.substr(i + 1, kArrow.size()) != kArrow) return false;
      result = text.substr(i + 1 + kArrow.size());
      return true;
    }
  }
  return false;
}

struct Builtin {
  std::string_view name;
  const Type* type;
};
constexpr Builtin kTypeNames[] = {
    {"bool", &kBoolType},
    {"bytes", &kBytesType},
    {"double", &kDoubleType},
    {"int", &kIntType},
    {"list", &kListType},
    {"map", &kMapType},
    {"null_type", &kNullType},
    {"string", &kStringType},
    {"type", &kTypeType},
    {"uint", &kUintType},
    {"google.protobuf.Duration", &kDurationType},
    {"google.protobuf.Timestamp", &kTimestampType},
};

}  // namespace

bool ParamCheck::Accepts(json::Arena& arena, Value value) const {
  if (any) return true;
  if (value.kind() != kind) return false;
  if (key != nullptr || part != nullptr) return AcceptsParts(arena, value);
  return !object || value.object()->type()->name == name;
}

bool ParamCheck::AcceptsParts(json::Arena& arena, Value value) const {
  if (value.size() == 0) return true;
  if (kind == Kind::kList) return part->Accepts(arena, value.At(arena, 0));
  return (key == nullptr || key->Accepts(arena, value.KeyAt(arena, 0))) &&
         (part == nullptr || part->Accepts(arena, value.ValueAt(arena, 0)));
}

base::Result<std::unique_ptr<const Declarations>> Declarations::Build(
    json::Arena& arena, std::span<const Source> libraries, std::span<const Variable> variables) {
  auto declarations = std::make_unique<Declarations>();
  for (const Builtin& builtin : kTypeNames) declarations->types_[builtin.name] = builtin.type;
  for (const Source& source : libraries) {
    for (const Function& row : source.library->functions) {
      if (row.since > source.version || row.until < source.version) continue;
      TRY(declarations->AddFunction(arena, row));
    }
    for (const Macro& macro : source.library->macros) {
      if (macro.since <= source.version) declarations->macros_[macro.name].push_back(&macro);
    }
    for (const NamedType& named : source.library->types) {
      declarations->types_[named.name] = named.type;
    }
  }
  for (const Source& source : libraries) {
    for (const CostByName& cost : source.library->costs) {
      FunctionGroup& group = declarations->functions_[cost.function];
      group.name = cost.function;
      if (cost.cost) group.cost_by_name = cost.cost;
      if (cost.estimate) group.estimate_by_name = cost.estimate;
    }
  }
  for (std::size_t i = 0; i < variables.size(); ++i) {
    declarations->variables_[variables[i].name] = static_cast<int>(i);
  }
  return std::unique_ptr<const Declarations>(std::move(declarations));
}

base::Status Declarations::AddFunction(json::Arena& arena, const Function& row) {
  std::vector<std::string_view> texts;
  std::string_view result;
  if (!SplitSignature(row.signature, texts, result)) {
    return base::ConfigError("function " + std::string(row.id) + ": malformed signature");
  }
  std::vector<const Type*> params;
  std::vector<ParamCheck> checks;
  std::vector<std::string_view> type_params;
  for (const std::string_view text : texts) {
    params.push_back(TRY(ParseType(arena, text)));
    checks.push_back(CheckFor(arena, params.back()));
    if (!row.guarded) checks.back().key = checks.back().part = nullptr;
    CollectParams(params.back(), type_params);
  }
  Overload overload;
  overload.row = &row;
  overload.result = TRY(ParseType(arena, result));
  CollectParams(overload.result, type_params);
  overload.params = Store(arena, params);
  overload.checks = Store(arena, checks);
  overload.type_params = Store(arena, type_params);
  FunctionGroup& group = functions_[row.name];
  group.name = row.name;
  if (row.cost && row.cost_scope == CostScope::kFunction) group.cost_by_name = row.cost;
  for (Overload& other : group.overloads) {
    if (other.row->id == row.id) {  // a library may replace an overload of another
      other = overload;
      return base::OkStatus();
    }
  }
  group.overloads.push_back(overload);
  return base::OkStatus();
}

const FunctionGroup* Declarations::FindFunction(std::string_view name) const {
  const auto found = functions_.find(name);
  // A group without overloads only carries a cost.
  const bool known = found != functions_.end() && !found->second.overloads.empty();
  return known ? &found->second : nullptr;
}

const Macro* Declarations::FindMacro(std::string_view name, Style style, std::size_t args) const {
  const auto found = macros_.find(name);
  if (found == macros_.end()) return nullptr;
  for (const Macro* macro : found->second) {
    if (macro->style == style && static_cast<std::size_t>(macro->arguments) == args) return macro;
  }
  return nullptr;
}

const Type* Declarations::FindTypeName(std::string_view name) const {
  const auto found = types_.find(name);
  return found == types_.end() ? nullptr : found->second;
}

int Declarations::FindVariable(std::string_view name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? -1 : found->second;
}

}  // namespace portcullis::cel
