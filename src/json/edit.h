// SPDX-License-Identifier: Apache-2.0

// Edits of every element of a list or every member of an object, each in one pass: the list is
// copied at most once, however many elements change. Never edit a list element by element with
// json::With and json::Append in a loop: that copies the whole list for each of them.
#pragma once

#include <cstddef>
#include <vector>

#include "json/value.h"

namespace portcullis::json {

// The array with edit(element) for each element; the array itself if none changed.
template <typename Edit>
Value EditElements(Arena& arena, Value array, Edit&& edit) {
  const auto old = array.elements();
  std::vector<Value> changed;
  for (std::size_t i = 0; i < old.size(); ++i) {
    const Value element = edit(old[i]);
    if (changed.empty() && element.IsSameAs(old[i])) continue;
    if (changed.empty()) changed.assign(old.begin(), old.end());
    changed[i] = element;
  }
  return changed.empty() ? array : MakeArray(arena, changed);
}

// The object with edit(member) for the value of each member; the object itself if none changed.
template <typename Edit>
Value EditMembers(Arena& arena, Value object, Edit&& edit) {
  const auto old = object.members();
  std::vector<Member> changed;
  for (std::size_t i = 0; i < old.size(); ++i) {
    const Value value = edit(old[i]);
    if (changed.empty() && value.IsSameAs(old[i].value)) continue;
    if (changed.empty()) changed.assign(old.begin(), old.end());
    changed[i].value = value;
  }
  return changed.empty() ? object : MakeObject(arena, changed);
}

// The object with its member `name` as `source` has it: without it if that has none.
Value WithMemberOf(Arena& arena, Value object, std::string_view name, Value source);

// The object with each member of `changes` set, those that are null there removed, in one pass.
Value WithMembers(Arena& arena, Value object, Value changes);

}  // namespace portcullis::json
