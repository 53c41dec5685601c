// SPDX-License-Identifier: Apache-2.0

#include "api/schema/raw_texts.h"

#include <algorithm>
#include <vector>

#include "api/schema/written.h"
#include "json/edit.h"
#include "json/verbatim.h"

namespace portcullis::api::schema {
namespace {

using json::Value;

json::internal::Source SourceOf(Value value) {
  return {value.source().data(), static_cast<std::uint32_t>(value.source().size())};
}

// AsWritten() that keeps each container's text.
Value WithNumbers(json::Arena& arena, Value value) {
  if (value.is_array()) {
    std::vector<Value> elements(value.elements().begin(), value.elements().end());
    for (Value& element : elements) element = WithNumbers(arena, element);
    return json::MakeArray(arena, elements, SourceOf(value));
  }
  if (value.is_object()) {
    std::vector<json::Member> members(value.members().begin(), value.members().end());
    for (json::Member& member : members) member.value = WithNumbers(arena, member.value);
    return json::MakeObject(arena, members, SourceOf(value));
  }
  return AsWritten(arena, value);
}

bool IsRawExtension(const Schema& schema) { return schema.go_type == "runtime.RawExtension"; }

// `value` with the texts of `sent`, from which it was decoded.
Value WithTexts(json::Arena& arena, const Schema& schema, Value value, Value sent) {
  switch (schema.kind) {
    case Kind::kAny:
      return IsRawExtension(schema) && value == sent ? sent : value;
    case Kind::kStruct: {
      if (!value.is_object()) return value;
      Value changed = value;
      for (const json::Member& member : value.members()) {
        const Field* field = schema.FindField(member.name(), member.hash);
        if (field == nullptr || member.value.empty()) continue;
        const Value inner = WithTexts(arena, *field->schema, member.value, sent[member.name()]);
        if (!inner.IsSameAs(member.value)) {
          changed = json::With(arena, changed, member.name(), inner);
        }
      }
      return changed;
    }
    case Kind::kArray: {
      std::size_t index = 0;
      return json::EditElements(arena, value, [&](const Value& element) {
        return WithTexts(arena, *schema.element, element, sent[index++]);
      });
    }
    default:
      return value;
  }
}

}  // namespace

bool HoldsRawTexts(const Schema& schema, Value object) {
  if (object.empty()) return false;
  if (schema.kind == Kind::kAny) return IsRawExtension(schema) && object.source().empty();
  if (schema.kind == Kind::kArray && schema.element != nullptr) {
    const auto elements = object.elements();
    return std::any_of(elements.begin(), elements.end(), [&](const Value& element) {
      return HoldsRawTexts(*schema.element, element);
    });
  }
  if (schema.kind != Kind::kStruct) return false;
  const auto members = object.members();
  return std::any_of(members.begin(), members.end(), [&](const json::Member& member) {
    const Field* field =
        member.value.empty() ? nullptr : schema.FindField(member.name(), member.hash);
    return field != nullptr && HoldsRawTexts(*field->schema, member.value);
  });
}

base::Result<Value> ReadRawExtension(json::Arena& arena, std::string_view text) {
  return WithNumbers(arena, TRY(json::ParseVerbatim(arena, text)));
}

Value WithRawTexts(json::Arena& arena, const Schema& schema, Value object, std::string_view text) {
  const auto sent = ReadRawExtension(arena, text);
  return sent.ok() ? WithTexts(arena, schema, object, *sent) : object;
}

}  // namespace portcullis::api::schema
