// SPDX-License-Identifier: Apache-2.0

// Types of CEL expressions, as the checker sees them and as `type(x)` yields them.
//
// A Type is an immutable node, passed as `const Type*`. Nodes without parameters that the language
// itself has are constants (kIntType, kDynType, …); all others live in a json::Arena and are valid
// as long as it: the environment's for declared types, the compilation's for inferred ones. Compare
// with SameType(), never by address. Free to read from any thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "json/value.h"

namespace portcullis::cel {

enum class TypeKind : std::uint8_t {
  kError,  // of an expression that has been reported already: printed `!error!`
  kDyn,
  kAny,
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kTimestamp,
  kDuration,
  kList,     // params: element
  kMap,      // params: key, value
  kType,     // params: the type meant, or none
  kOpaque,   // name, params: optional_type(T), kubernetes.Quantity, net.IP
  kStruct,   // name: fields come from the TypeProvider
  kWrapper,  // params: the primitive that may also be null
  kParam,    // name: a type parameter of a signature (A, B, T), or a type variable (_var0)
};

struct Type {
  TypeKind kind = TypeKind::kDyn;
  std::string_view name;
  std::span<const Type* const> params;

  bool is_dyn() const { return kind == TypeKind::kDyn || kind == TypeKind::kAny; }
  bool is_optional() const { return kind == TypeKind::kOpaque && name == "optional_type"; }
  // REQUIRES: the type has that parameter.
  const Type* param(std::size_t index = 0) const { return params[index]; }
};

inline constexpr Type kErrorType{TypeKind::kError, "!error!", {}};
inline constexpr Type kDynType{TypeKind::kDyn, "dyn", {}};
inline constexpr Type kAnyType{TypeKind::kAny, "any", {}};
inline constexpr Type kNullType{TypeKind::kNull, "null_type", {}};
inline constexpr Type kBoolType{TypeKind::kBool, "bool", {}};
inline constexpr Type kIntType{TypeKind::kInt, "int", {}};
inline constexpr Type kUintType{TypeKind::kUint, "uint", {}};
inline constexpr Type kDoubleType{TypeKind::kDouble, "double", {}};
inline constexpr Type kStringType{TypeKind::kString, "string", {}};
inline constexpr Type kBytesType{TypeKind::kBytes, "bytes", {}};
inline constexpr Type kTimestampType{TypeKind::kTimestamp, "google.protobuf.Timestamp", {}};
inline constexpr Type kDurationType{TypeKind::kDuration, "google.protobuf.Duration", {}};
// Without parameters: what `type([1])` and `type({})` and `type(int)` are at run time.
inline constexpr Type kListType{TypeKind::kList, "list", {}};
inline constexpr Type kMapType{TypeKind::kMap, "map", {}};
inline constexpr Type kTypeType{TypeKind::kType, "type", {}};
inline constexpr Type kOptionalType{TypeKind::kOpaque, "optional_type", {}};

// Makers. Names are copied into the arena; parameters are kept as they are.
const Type* MakeType(json::Arena& arena, TypeKind kind, std::string_view name,
                     std::initializer_list<const Type*> params);
const Type* MakeListType(json::Arena& arena, const Type* element);
const Type* MakeMapType(json::Arena& arena, const Type* key, const Type* value);
const Type* MakeTypeType(json::Arena& arena, const Type* type);
const Type* MakeOptionalType(json::Arena& arena, const Type* content);
const Type* MakeOpaqueType(json::Arena& arena, std::string_view name);
const Type* MakeStructType(json::Arena& arena, std::string_view name);
const Type* MakeParamType(json::Arena& arena, std::string_view name);

// A deep copy.
const Type* CopyType(json::Arena& arena, const Type* type);

// Reads the notation of library tables: `int`, `list(map(string, dyn))`, `optional_type(T)`,
// `timestamp`, `null_type`. A single capital letter is a type parameter; every other unknown name
// is an opaque type of that name, or a struct if it has a leading `#` (`#kubernetes.UserInfo`).
base::Result<const Type*> ParseType(json::Arena& arena, std::string_view text);

// Same kind, name and parameters. Lists without parameter are the same as list(dyn).
bool SameType(const Type* a, const Type* b);

// As in checker errors: `null`, `timestamp`, `list(int)`, `type(int)`, `optional_type(string)`.
std::string FormatType(const Type* type);
// As Go's String() of a type: `null_type`, `google.protobuf.Timestamp`, `list(int)`. Kubernetes
// uses it in "must evaluate to … but got …".
std::string TypeString(const Type* type);

// Fields of struct types, type names that may be written in expressions, and construction of
// objects. Given to an environment; immutable and thread safe.
class TypeProvider {
 public:
  virtual ~TypeProvider() = default;
  // The struct type of that name, or null. Asked for `Name{…}`, and for names in expressions.
  virtual const Type* FindStruct(std::string_view name) const = 0;
  // The type of a field, or null if the struct has no such field.
  virtual const Type* FindField(const Type& type, std::string_view field) const = 0;
};

}  // namespace portcullis::cel
