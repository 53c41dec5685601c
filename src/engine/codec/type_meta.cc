#include "engine/codec/type_meta.h"

#include <string_view>

#include "base/strings.h"

namespace portcullis::engine {
namespace {

std::string_view GoTypeName(json::Value value) {
  switch (value.type()) {
    case json::Type::kArray:
      return "array";
    case json::Type::kString:
      return "string";
    case json::Type::kBool:
      return "bool";
    case json::Type::kInt:
    case json::Type::kDouble:
      return "number";
    default:
      return "object";
  }
}

// The type of the struct that the Go server reads kind and version into.
constexpr std::string_view kTypeMetaStruct =
    R"(struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" })";

}  // namespace

std::string TypeMetaError(json::Value document) {
  if (!document.is_object() && !document.is_null()) {
    return base::StrCat("json: cannot unmarshal ", GoTypeName(document), " into Go value of type ",
                        kTypeMetaStruct);
  }
  for (std::string_view name : {"apiVersion", "kind"}) {
    const json::Value value = document[name];
    if (value.is_null() || value.is_string()) continue;
    return base::StrCat("json: cannot unmarshal ", GoTypeName(value), " into Go struct field .",
                        name, " of type string");
  }
  return {};
}

}  // namespace portcullis::engine
