// SPDX-License-Identifier: Apache-2.0

#include "api/patch/strategic_fields.h"

#include <string>
#include <utility>

#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::api::patch {
namespace {

base::Status Error(std::string message) { return {base::Reason::kUnknown, std::move(message)}; }

std::string_view SchemaKind(const schema::Schema& schema) {
  switch (schema.kind) {
    case schema::Kind::kMap:
      return "map";
    case schema::Kind::kArray:
    case schema::Kind::kBytes:
      return "slice";
    case schema::Kind::kString:
      return "string";
    case schema::Kind::kBoolean:
      return "bool";
    case schema::Kind::kInteger:
      return schema.format == "int64" ? "int64" : "int32";
    case schema::Kind::kNumber:
      return "float64";
    default:
      return "struct";
  }
}

}  // namespace

std::string_view KindOf(const GoType& type) {
  return type.pointer ? "ptr" : SchemaKind(*type.schema);
}

base::Result<FieldRule> RuleOf(const GoType& parent, std::string_view name) {
  const schema::Schema& schema = *parent.schema;
  if (const std::string_view kind = SchemaKind(schema); kind != "struct") {
    return Error(
        base::StrCat("merging an object in json but data type is not struct, instead is: ", kind));
  }
  const schema::Field* field = schema.FindField(name);
  for (const schema::Field& other : schema.fields) {
    if (field == nullptr && base::EqualsIgnoreCase(other.name, name)) field = &other;
  }
  if (field == nullptr) {
    return Error(base::StrCat("unable to find api field in struct ",
                              schema.go_type.substr(schema.go_type.rfind('.') + 1),
                              " for the json field ", base::GoQuote(name)));
  }
  return FieldRule{{field->schema, field->pointer},
                   field->patch_merge_key(),
                   field->patch_merge,
                   field->patch_replace};
}

base::Result<FieldRule> ListRuleOf(const GoType& parent, std::string_view name) {
  FieldRule rule = TRY(RuleOf(parent, name));
  const schema::Schema& list = *rule.type.schema;
  if (list.kind == schema::Kind::kArray) {
    rule.type = {list.element, list.element_pointer};
    if (KindOf(rule.type) == "slice") return Error("unexpected slice of slice");
  } else if (!rule.type.pointer && list.kind != schema::Kind::kBytes) {
    return Error(base::StrCat("expected slice or array type, but got: ", KindOf(parent)));
  }
  rule.type.pointer = rule.type.pointer && list.kind == schema::Kind::kArray;
  return rule;
}

}  // namespace portcullis::api::patch
