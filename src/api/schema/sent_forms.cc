// SPDX-License-Identifier: Apache-2.0

#include "api/schema/sent_forms.h"

#include <string>

#include "json/writer.h"

namespace portcullis::api::schema {

using json::Value;

bool SentForm::is_empty() const {
  return schema.is_container() && schema.kind != Kind::kStruct &&
         (sent.is_array() || sent.is_object()) && sent.empty();
}

bool SentForm::is_rewritten_quantity() const {
  if (schema.kind != Kind::kQuantity || !decoded.is_string()) return false;
  if (sent.is_string()) return sent.AsString() != decoded.AsString();
  if (!sent.is_number()) return false;
  const std::string_view literal = sent.NumberLiteral();
  return (literal.empty() ? json::ToString(sent) : std::string(literal)) != decoded.AsString();
}

bool AnySent(const Schema* schema, Value sent, Value decoded, bool (*is)(const SentForm& form),
             bool in_list) {
  if (schema == nullptr) return false;
  if (is({*schema, sent, decoded, in_list})) return true;
  if (schema->kind == Kind::kUnion && sent.is_object()) {
    return AnySent(schema->element, sent, decoded, is, in_list);
  }
  if (!schema->is_container()) return false;
  for (std::size_t i = 0; i < sent.elements().size(); ++i) {
    if (AnySent(schema->element, sent[i], decoded[i], is, true)) return true;
  }
  for (const json::Member& member : sent.members()) {
    const Field* field = schema->kind == Kind::kStruct ? schema->FindField(member.name()) : nullptr;
    const Schema* inner = field != nullptr ? field->schema : schema->element;
    if (AnySent(inner, member.value, decoded[member.name()], is, in_list)) return true;
  }
  return false;
}

}  // namespace portcullis::api::schema
