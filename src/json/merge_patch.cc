// SPDX-License-Identifier: Apache-2.0

#include "json/merge_patch.h"

#include <vector>

namespace portcullis::json {
namespace {

Value WithoutNulls(Arena& arena, Value value) {
  bool changed = false;
  if (value.is_object()) {
    std::vector<Member> members;
    members.reserve(value.size());
    for (const Member& member : value.members()) {
      if (member.value.is_null()) {
        changed = true;
        continue;
      }
      members.push_back(member);
      members.back().value = WithoutNulls(arena, member.value);
      changed |= !members.back().value.IsSameAs(member.value);
    }
    return changed ? MakeObject(arena, members) : value;
  }
  if (value.is_array()) {
    std::vector<Value> elements;
    elements.reserve(value.size());
    for (const Value& element : value.elements()) {
      elements.push_back(WithoutNulls(arena, element));
      changed |= !elements.back().IsSameAs(element);
    }
    return changed ? MakeArray(arena, elements) : value;
  }
  return value;
}

Value MergeObjects(Arena& arena, Value object, Value patch);

Value Merge(Arena& arena, Value current, Value patch) {
  if (!current.is_object()) return WithoutNulls(arena, patch);
  if (!patch.is_object()) return patch;
  return MergeObjects(arena, current, patch);
}

Value MergeObjects(Arena& arena, Value object, Value patch) {
  std::vector<Member> members;
  members.reserve(object.size() + patch.size());
  for (const Member& member : object.members()) {
    const Value* change = patch.Find(member.name(), member.hash);
    if (change != nullptr && change->is_null()) continue;
    members.push_back(member);
    if (change != nullptr) members.back().value = Merge(arena, member.value, *change);
  }
  for (const Member& change : patch.members()) {
    if (change.value.is_null() || object.Find(change.name(), change.hash) != nullptr) continue;
    members.push_back(change);
    members.back().value = WithoutNulls(arena, change.value);
  }
  return MakeObject(arena, members);
}

}  // namespace

base::Result<Value> MergePatch(Arena& arena, Value document, Value patch) {
  if (document.is_null()) return base::BadRequest("Invalid JSON Document");
  if (!patch.is_object() && !patch.is_array()) return base::BadRequest("Invalid JSON Patch");
  if (!document.is_object() || !patch.is_object()) return WithoutNulls(arena, patch);
  return MergeObjects(arena, document, patch);
}

}  // namespace portcullis::json
