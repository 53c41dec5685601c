// SPDX-License-Identifier: Apache-2.0

#include "registry/validation/sent_values.h"

namespace portcullis::registry {

json::Value WithSentEmpty(json::Arena& arena, json::Value object, json::Value sent,
                          std::string_view field) {
  if (object.Has(field) || !IsSentEmpty(sent[field])) return object;
  return json::With(arena, object, field, sent[field]);
}

json::Value SentElements::Find(std::size_t index, json::Value name) {
  if (sent_.empty() || sent_[index]["name"] == name) return sent_[index];
  if (by_name_.empty()) {
    for (const json::Value& element : sent_.elements()) {
      by_name_.try_emplace(element["name"].AsString(), element);
    }
  }
  const auto found = by_name_.find(name.AsString());
  return found == by_name_.end() ? json::Value() : found->second;
}

json::Value WithSentLists(json::Arena& arena, json::Value metadata, json::Value sent) {
  json::ObjectBuilder out(arena, metadata);
  // The last fields of the type.
  for (const std::string_view list : {"ownerReferences", "finalizers", "managedFields"}) {
    const json::Value held = metadata.Has(list) ? metadata[list] : sent[list];
    out.Remove(list);
    if (metadata.Has(list) || IsSentEmpty(held)) out.Set(list, held);
  }
  return out.Build();
}

}  // namespace portcullis::registry
