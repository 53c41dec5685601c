// SPDX-License-Identifier: Apache-2.0

#include "cel/types.h"

#include <array>
#include <utility>

namespace portcullis::cel {
namespace {

constexpr int kMaxTypeDepth = 64;

constexpr std::array<std::pair<std::string_view, const Type*>, 17> kNames = {{
    {"dyn", &kDynType},
    {"any", &kAnyType},
    {"null", &kNullType},
    {"null_type", &kNullType},
    {"bool", &kBoolType},
    {"int", &kIntType},
    {"uint", &kUintType},
    {"double", &kDoubleType},
    {"string", &kStringType},
    {"bytes", &kBytesType},
    {"timestamp", &kTimestampType},
    {"google.protobuf.Timestamp", &kTimestampType},
    {"duration", &kDurationType},
    {"google.protobuf.Duration", &kDurationType},
    {"list", &kListType},
    {"map", &kMapType},
    {"type", &kTypeType},
}};

class Reader {
 public:
  Reader(json::Arena& arena, std::string_view text) : arena_(arena), text_(text) {}

  const Type* Whole() {
    const Type* type = One(0);
    return at_ == text_.size() ? type : nullptr;
  }

 private:
  const Type* One(int depth) {
    if (depth > kMaxTypeDepth) return nullptr;
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '(' && text_[at_] != ')' && text_[at_] != ',') ++at_;
    const std::string_view name = text_.substr(begin, at_ - begin);
    if (name.empty()) return nullptr;
    if (at_ == text_.size() || text_[at_] != '(') return Plain(name);
    ++at_;
    std::array<const Type*, 2> params{};
    std::size_t count = 0;
    while (true) {
      const Type* param = One(depth + 1);
      if (!param || count == params.size()) return nullptr;
      params[count++] = param;
      if (at_ == text_.size()) return nullptr;
      const char end = text_[at_++];
      if (end == ')') break;
      while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    }
    return WithParams(name, params[0], count == 2 ? params[1] : nullptr);
  }

  const Type* Plain(std::string_view name) {
    for (const auto& [known, type] : kNames) {
      if (known == name) return type;
    }
    if (name.size() == 1 && name[0] >= 'A' && name[0] <= 'Z') return MakeParamType(arena_, name);
    if (name[0] == '#') return MakeStructType(arena_, name.substr(1));
    return MakeOpaqueType(arena_, name);
  }

  const Type* WithParams(std::string_view name, const Type* first, const Type* second) {
    if (name == "map") return second ? MakeMapType(arena_, first, second) : nullptr;
    if (second) return MakeType(arena_, TypeKind::kOpaque, name, {first, second});
    if (name == "list") return MakeListType(arena_, first);
    if (name == "type") return MakeTypeType(arena_, first);
    if (name == "wrapper") return MakeType(arena_, TypeKind::kWrapper, "wrapper", {first});
    return MakeType(arena_, TypeKind::kOpaque, name, {first});
  }

  json::Arena& arena_;
  std::string_view text_;
  std::size_t at_ = 0;
};

const Type* ParamOrDyn(const Type* type, std::size_t index) {
  return index < type->params.size() ? type->params[index] : &kDynType;
}

std::string WithParams(const Type* type, std::string name, std::string (*format)(const Type*)) {
  if (type->params.empty()) return name;
  name += '(';
  for (std::size_t i = 0; i < type->params.size(); ++i) {
    if (i > 0) name += ", ";
    name += format(type->params[i]);
  }
  return name + ')';
}

}  // namespace

const Type* MakeType(json::Arena& arena, TypeKind kind, std::string_view name,
                     std::initializer_list<const Type*> params) {
  using Pointer = const Type*;
  Pointer* copy = nullptr;
  if (params.size() > 0) {
    copy = static_cast<Pointer*>(arena.Allocate(params.size() * sizeof(Pointer), alignof(Pointer)));
    std::size_t i = 0;
    for (const Type* param : params) copy[i++] = param;
  }
  void* memory = arena.Allocate(sizeof(Type), alignof(Type));
  return new (memory) Type{kind, arena.Copy(name), {copy, params.size()}};
}

const Type* MakeListType(json::Arena& arena, const Type* element) {
  return MakeType(arena, TypeKind::kList, "list", {element});
}
const Type* MakeMapType(json::Arena& arena, const Type* key, const Type* value) {
  return MakeType(arena, TypeKind::kMap, "map", {key, value});
}
const Type* MakeTypeType(json::Arena& arena, const Type* type) {
  return MakeType(arena, TypeKind::kType, "type", {type});
}
const Type* MakeOptionalType(json::Arena& arena, const Type* content) {
  return MakeType(arena, TypeKind::kOpaque, "optional_type", {content});
}
const Type* MakeOpaqueType(json::Arena& arena, std::string_view name) {
  return MakeType(arena, TypeKind::kOpaque, name, {});
}
const Type* MakeStructType(json::Arena& arena, std::string_view name) {
  return MakeType(arena, TypeKind::kStruct, name, {});
}
const Type* MakeParamType(json::Arena& arena, std::string_view name) {
  return MakeType(arena, TypeKind::kParam, name, {});
}

const Type* CopyType(json::Arena& arena, const Type* type) {
  if (type->params.empty()) {
    const bool named = type->kind == TypeKind::kStruct || type->kind == TypeKind::kOpaque ||
                       type->kind == TypeKind::kParam;
    return named ? MakeType(arena, type->kind, type->name, {}) : type;
  }
  const Type* first = CopyType(arena, type->params[0]);
  if (type->params.size() == 1) return MakeType(arena, type->kind, type->name, {first});
  return MakeType(arena, type->kind, type->name, {first, CopyType(arena, type->params[1])});
}

base::Result<const Type*> ParseType(json::Arena& arena, std::string_view text) {
  const Type* type = Reader(arena, text).Whole();
  if (!type) return base::ConfigError("malformed type '" + std::string(text) + "'");
  return type;
}

bool SameType(const Type* a, const Type* b) {
  if (a == b) return true;
  if (a->kind != b->kind || a->name != b->name) return false;
  const std::size_t count = std::max(a->params.size(), b->params.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (!SameType(ParamOrDyn(a, i), ParamOrDyn(b, i))) return false;
  }
  return true;
}

std::string FormatType(const Type* type) {
  switch (type->kind) {
    case TypeKind::kNull:
      return "null";
    case TypeKind::kTimestamp:
      return "timestamp";
    case TypeKind::kDuration:
      return "duration";
    case TypeKind::kList:
      return type->params.empty() ? "list(dyn)" : WithParams(type, "list", &FormatType);
    case TypeKind::kMap:
      return type->params.empty() ? "map(dyn, dyn)" : WithParams(type, "map", &FormatType);
    default:
      return WithParams(type, std::string(type->name), &FormatType);
  }
}

std::string TypeString(const Type* type) {
  return WithParams(type, std::string(type->name), &TypeString);
}

}  // namespace portcullis::cel
