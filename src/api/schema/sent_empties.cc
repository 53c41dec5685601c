// SPDX-License-Identifier: Apache-2.0

#include "api/schema/sent_empties.h"

namespace portcullis::api::schema {

using json::Value;

bool AnySentEmpty(const Schema* schema, Value sent, Value decoded, IsSentEmpty is, bool in_list) {
  if (schema == nullptr || !schema->is_container()) return false;
  const bool is_struct = schema->kind == Kind::kStruct;
  if (!is_struct && (sent.is_array() || sent.is_object()) && sent.empty()) {
    return is(decoded, in_list);
  }
  for (std::size_t i = 0; i < sent.elements().size(); ++i) {
    if (AnySentEmpty(schema->element, sent[i], decoded[i], is, true)) return true;
  }
  for (const json::Member& member : sent.members()) {
    const Field* field = is_struct ? schema->FindField(member.name()) : nullptr;
    const Schema* inner = field != nullptr ? field->schema : schema->element;
    if (AnySentEmpty(inner, member.value, decoded[member.name()], is, in_list)) return true;
  }
  return false;
}

}  // namespace portcullis::api::schema
