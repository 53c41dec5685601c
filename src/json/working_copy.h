// SPDX-License-Identifier: Apache-2.0

// The document while a patch is applied to it; private to this folder.
//
// Containers on the paths of operations are opened into mutable form, everything else stays as it
// is. A run of operations on one large array or object therefore does not copy it again and again.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/slot_list.h"
#include "json/value.h"

namespace portcullis::json::internal {

struct OpenMember {
  Member member;  // its value is meaningless
  Slot slot;
  bool removed = false;
};

struct OpenContainer {
  bool is_object = false;
  OpenContainer* parent = nullptr;  // the open container it is in; null for the root
  std::uint32_t depth = 0;          // the most levels it has had: what is removed leaves it
  SlotList elements;
  Value base;  // the object that was opened: its members are the first of these, in its order
  std::vector<OpenMember> members;
  std::size_t left = 0;                           // members that are not removed
  std::map<std::string_view, std::size_t> added;  // positions of those of them behind the first

  // The member, or null. REQUIRES: is_object.
  OpenMember* Find(std::string_view name);
  const OpenMember* Find(std::string_view name) const {
    return const_cast<OpenContainer*>(this)->Find(name);
  }
};

// The object with the last of the members of each name, whose values stay as they are.
Value LastMembers(Arena& arena, Value object);

// Where an operation acts: the last token of a path, in the container that all others lead to.
struct Place {
  OpenContainer* container = nullptr;  // null if the path leads nowhere
  std::string_view key;                // unescaped, in the arena
  std::uint32_t depth = 0;             // levels of containers down to here
};

class WorkingCopy {
 public:
  // `repeats_keys`: values that are put in may repeat keys (PatchOptions::repeats_keys).
  WorkingCopy(Arena& arena, Value root, bool repeats_keys);

  Place Find(std::string_view path);
  // The slot at a place. Null for a missing member; a bad index is an error.
  base::Result<Slot*> Get(const Place& place);
  base::Status Add(const Place& place, Slot slot);
  base::Status Remove(const Place& place);
  // Puts the value where another one is. REQUIRES: Get(place) has returned the slot.
  static void Put(const Place& place, Slot& slot, Value value);
  void Replace(Value root);

  const Slot& root() const { return root_; }
  // What a slot holds, as an immutable value.
  Value Freeze(const Slot& slot) const;
  Value FreezeObject(const OpenContainer& open) const;
  Value FreezeArray(const OpenContainer& open) const;
  // Levels of containers that the slot holds; of an open one at most so many.
  static std::uint32_t Depth(const Slot& slot) {
    return slot.open == nullptr ? slot.value.depth() : slot.open->depth;
  }
  // Whether the slot holds a value equal to `value`; allocates nothing.
  static bool Equal(const Slot& slot, const Value& value);

 private:
  OpenContainer* Open(Slot& slot, OpenContainer* parent);
  // The container gets the slot: so do those that it is in.
  static void Adopt(OpenContainer& container, const Slot& slot);

  Arena& arena_;
  const bool repeats_keys_;
  Slot root_;
};

}  // namespace portcullis::json::internal
