// SPDX-License-Identifier: Apache-2.0

#include "admission/connect_options.h"

#include <span>

#include "base/strings.h"
#include "json/go_errors.h"

namespace portcullis::admission {
namespace {

enum class Type : std::uint8_t { kBool, kString, kStrings, kNumbers };

struct Field {
  std::string_view name;
  Type type;
  bool always = false;  // written even if empty
};

constexpr Field kExec[] = {{"stdin", Type::kBool},       {"stdout", Type::kBool},
                           {"stderr", Type::kBool},      {"tty", Type::kBool},
                           {"container", Type::kString}, {"command", Type::kStrings, true}};
constexpr Field kPortForward[] = {{"ports", Type::kNumbers}};
constexpr Field kProxy[] = {{"path", Type::kString}};

std::span<const Field> FieldsOf(const api::GroupVersionKind& kind) {
  if (!kind.group.empty()) return {};
  if (kind.kind == "PodExecOptions") return kExec;
  if (kind.kind == "PodAttachOptions") return std::span(kExec).first(5);
  if (kind.kind == "PodPortForwardOptions") return kPortForward;
  const bool proxy = kind.kind == "PodProxyOptions" || kind.kind == "ServiceProxyOptions" ||
                     kind.kind == "NodeProxyOptions";
  return proxy ? std::span<const Field>(kProxy) : std::span<const Field>();
}

bool Fits(Type type, json::Value value) {
  if (type == Type::kBool) return value.is_bool();
  return type == Type::kString ? value.is_string() : value.is_array();
}

bool IsEmpty(Type type, json::Value value) {
  if (type == Type::kBool) return !value.AsBool();
  return type == Type::kString ? value.AsString().empty() : value.empty();
}

std::string_view GoName(Type type) {
  constexpr std::string_view kNames[] = {"bool", "string", "[]string", "[]int32"};
  return kNames[static_cast<std::size_t>(type)];
}

base::Status WrongType(const api::GroupVersionKind& kind, const Field& field, json::Value value,
                       std::string_view wanted) {
  return base::BadRequest(base::StrCat("json: cannot unmarshal ", json::GoTypeName(value),
                                       " into Go struct field ", kind.kind, ".", field.name,
                                       " of type ", wanted));
}

base::Status CheckField(const api::GroupVersionKind& kind, const Field& field, json::Value value) {
  if (!Fits(field.type, value)) return WrongType(kind, field, value, GoName(field.type));
  if (field.type != Type::kStrings && field.type != Type::kNumbers) return base::OkStatus();
  for (const json::Value& element : value.elements()) {
    const bool fits = field.type == Type::kStrings ? element.is_string() : element.is_int();
    if (!fits) return WrongType(kind, field, element, GoName(field.type).substr(2));
  }
  return base::OkStatus();
}

}  // namespace

base::Result<json::Value> DecodeConnectOptions(json::Arena& arena, json::Value object,
                                               const api::GroupVersionKind& kind) {
  const std::span<const Field> fields = FieldsOf(kind);
  if (fields.empty()) return object;
  json::ObjectBuilder out(arena);
  out.Set("kind", kind.kind).Set("apiVersion", kind.version);
  for (const Field& field : fields) {
    const json::Value value = object[field.name];
    if (!value.is_null()) TRY(CheckField(kind, field, value));
    if (field.always || (!value.is_null() && !IsEmpty(field.type, value))) {
      out.Set(field.name, value);
    }
  }
  return out.Build();
}

}  // namespace portcullis::admission
