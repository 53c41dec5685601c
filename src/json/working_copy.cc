// SPDX-License-Identifier: Apache-2.0

#include "json/working_copy.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/gotext.h"
#include "base/strings.h"
#include "golang/strconv.h"
#include "json/duplicates.h"
#include "json/pointer.h"
#include "json/sorted.h"

namespace portcullis::json::internal {
namespace {

base::Status Failure(std::string message) { return {base::Reason::kInvalid, std::move(message)}; }

base::Status BadIndex(std::int64_t index) {
  return Failure(base::StrCat("Unable to access invalid index: ", std::to_string(index),
                              ": invalid index referenced"));
}

base::Status MissingKey(std::string_view key) {
  return Failure(base::StrCat("Unable to remove nonexistent key: ", key, ": missing value"));
}

base::Result<std::int64_t> ParseIndex(std::string_view text) {
  const auto index = golang::Atoi(text);
  if (!index.ok()) return Failure(index.status().message());
  return *index;
}

// The position an index means in `size` places, negative ones counted from the end.
base::Result<std::size_t> Position(std::int64_t index, std::size_t size) {
  const auto places = static_cast<std::int64_t>(size);
  if (index >= places || index < -places) return BadIndex(index);
  return static_cast<std::size_t>(index < 0 ? index + places : index);
}

}  // namespace

OpenMember* OpenContainer::Find(std::string_view name) {
  if (!added.empty()) {
    const auto found = added.find(name);
    if (found != added.end()) return &members[found->second];
  }
  const Value* const found = base.Find(name);
  if (found == nullptr) return nullptr;
  // Most objects are opened for the sake of one member: no table of all is made.
  const auto offset = reinterpret_cast<const char*>(found) -
                      reinterpret_cast<const char*>(&base.members().front().value);
  OpenMember& member = members[static_cast<std::size_t>(offset) / sizeof(Member)];
  return member.removed ? nullptr : &member;
}

Value LastMembers(Arena& arena, Value object) {
  std::vector<Member> members(object.members().begin(), object.members().end());
  const std::vector<std::uint32_t> first_of = FirstOfEachName(members);
  if (first_of.empty()) return object;
  members.resize(KeepLast(members, first_of));
  return MakeObject(arena, members);
}

WorkingCopy::WorkingCopy(Arena& arena, Value root, bool repeats_keys)
    : arena_(arena), repeats_keys_(repeats_keys) {
  root_.value = root;
}

void WorkingCopy::Replace(Value root) {
  root_.value = root;
  root_.open.reset();
}

OpenContainer* WorkingCopy::Open(Slot& slot, OpenContainer* parent) {
  if (slot.open != nullptr) return slot.open.get();
  const Value value = repeats_keys_ ? LastMembers(arena_, slot.value) : slot.value;
  if (!value.is_object() && !value.is_array()) return nullptr;
  auto open = std::make_unique<OpenContainer>();
  open->is_object = value.is_object();
  open->parent = parent;
  open->depth = value.depth();
  for (const Value& element : value.elements()) open->elements.PushBack({element, nullptr});
  open->base = value;
  open->left = value.members().size();
  open->members.reserve(open->left + 1);
  for (const Member& member : value.members()) {
    open->members.push_back({member, {member.value, nullptr}, false});
  }
  slot.open = std::move(open);
  return slot.open.get();
}

Place WorkingCopy::Find(std::string_view path) {
  std::vector<std::string_view> tokens = base::Split(path, '/');
  if (tokens.size() < 2) return {};
  Place place;
  place.container = Open(root_, nullptr);
  place.depth = static_cast<std::uint32_t>(tokens.size() - 1);
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    if (place.container == nullptr) return {};
    place.key = tokens[i];
    std::string unescaped;
    if (place.key.find('~') != std::string_view::npos) {
      unescaped = UnescapeToken(place.key);
      place.key = unescaped;
    }
    if (i + 1 == tokens.size()) {
      place.key = arena_.Copy(place.key);
      return place;
    }
    const base::Result<Slot*> next = Get(place);
    if (!next.ok() || *next == nullptr) return {};
    place.container = Open(**next, place.container);
  }
  return {};
}

base::Result<Slot*> WorkingCopy::Get(const Place& place) {
  OpenContainer& container = *place.container;
  if (container.is_object) {
    OpenMember* const found = container.Find(place.key);
    return found == nullptr ? nullptr : &found->slot;
  }
  const std::int64_t index = TRY(ParseIndex(place.key));
  return &container.elements[TRY(Position(index, container.elements.size()))];
}

void WorkingCopy::Adopt(OpenContainer& container, const Slot& slot) {
  if (slot.open != nullptr) slot.open->parent = &container;
  std::uint32_t depth = Depth(slot);
  for (OpenContainer* at = &container; at != nullptr && at->depth < ++depth; at = at->parent) {
    at->depth = depth;
  }
}

void WorkingCopy::Put(const Place& place, Slot& slot, Value value) {
  slot = {value, nullptr};
  Adopt(*place.container, slot);
}

// A container that cannot take it may count as too deep: the patch ends there.
base::Status WorkingCopy::Add(const Place& place, Slot slot) {
  OpenContainer& container = *place.container;
  Adopt(container, slot);
  if (container.is_object) {
    if (OpenMember* const found = container.Find(place.key)) {
      found->slot = std::move(slot);
      return base::OkStatus();
    }
    container.added.emplace(place.key, container.members.size());
    container.members.push_back({{place.key, {}}, std::move(slot), false});
    ++container.left;
    return base::OkStatus();
  }
  if (place.key == "-") {
    container.elements.PushBack(std::move(slot));
    return base::OkStatus();
  }
  const auto index = ParseIndex(place.key);
  if (!index.ok()) {
    return index.status().Annotate(
        base::StrCat("value was not a proper array index: '", place.key, "'"));
  }
  const std::size_t position = TRY(Position(*index, container.elements.size() + 1));
  container.elements.Insert(position, std::move(slot));
  return base::OkStatus();
}

base::Status WorkingCopy::Remove(const Place& place) {
  OpenContainer& container = *place.container;
  if (container.is_object) {
    OpenMember* const found = container.Find(place.key);
    if (found == nullptr) return MissingKey(place.key);
    found->removed = true;
    found->slot = {};
    container.added.erase(place.key);
    --container.left;
    return base::OkStatus();
  }
  const std::int64_t index = TRY(ParseIndex(place.key));
  const std::size_t position = TRY(Position(index, container.elements.size()));
  container.elements.Erase(position);
  return base::OkStatus();
}

// Documents may be 10,000 levels deep: each level takes little of the stack.
Value WorkingCopy::Freeze(const Slot& slot) const {
  if (slot.open == nullptr) return slot.value;
  return slot.open->is_object ? FreezeObject(*slot.open) : FreezeArray(*slot.open);
}

Value WorkingCopy::FreezeObject(const OpenContainer& open) const {
  std::vector<Member> members;
  members.reserve(open.left);
  for (const OpenMember& member : open.members) {
    if (member.removed) continue;
    members.push_back(member.member);
    members.back().value = Freeze(member.slot);
  }
  // The library's objects are Go's maps, which are written in order.
  if (!std::is_sorted(members.begin(), members.end(), HasLowerName)) {
    std::stable_sort(members.begin(), members.end(), HasLowerName);
  }
  return MakeObject(arena_, members);
}

Value WorkingCopy::FreezeArray(const OpenContainer& open) const {
  std::vector<Value> elements;
  elements.reserve(open.elements.size());
  open.elements.ForEach([&](const Slot& element) {
    elements.push_back(Freeze(element));
    return true;
  });
  return MakeArray(arena_, elements);
}

bool WorkingCopy::Equal(const Slot& slot, const Value& value) {
  if (slot.open == nullptr) return slot.value == value;
  const OpenContainer& open = *slot.open;
  if (open.is_object != value.is_object()) return false;
  if (open.is_object) {
    if (open.left != value.size()) return false;
    for (const Member& member : value.members()) {
      const OpenMember* const found = open.Find(member.name());
      if (found == nullptr || !Equal(found->slot, member.value)) return false;
    }
    return true;
  }
  if (!value.is_array() || open.elements.size() != value.size()) return false;
  std::size_t index = 0;
  return open.elements.ForEach(
      [&](const Slot& element) { return Equal(element, value.elements()[index++]); });
}

}  // namespace portcullis::json::internal
