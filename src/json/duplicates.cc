// SPDX-License-Identifier: Apache-2.0

#include "json/duplicates.h"

#include "json/index.h"

namespace portcullis::json {
namespace {

constexpr std::uint64_t kHashFactor = 0x9E3779B97F4A7C15U;

bool SameName(const Member& a, const Member& b) { return a.hash == b.hash && a.name() == b.name(); }

void CollectPaths(Value value, StrictPath& path, std::vector<std::string>& paths) {
  for (std::size_t i = 0; i < value.elements().size() && !path.full(); ++i) {
    const StrictPath::Mark mark = path.PushIndex(i);
    CollectPaths(value.elements()[i], path, paths);
    path.Return(mark);
  }
  const std::vector<std::uint32_t> first_of = internal::FirstOfEachName(value.members());
  for (std::size_t i = 0; i < value.members().size() && !path.full(); ++i) {
    const Member& member = value.members()[i];
    const StrictPath::Mark mark = path.Push(member.name());
    const bool repeated = !first_of.empty() && first_of[i] != i;
    if (repeated && path.Report()) paths.push_back(path.text());
    CollectPaths(member.value, path, paths);
    path.Return(mark);
  }
}

}  // namespace

StrictPath::Mark StrictPath::Push(std::string_view name) {
  const Mark mark{text_.size(), hash_};
  if (hash_ != 0) text_ += '.';  // also behind a name without characters
  text_ += name;
  hash_ = (hash_ ^ (HashKey(name) + std::uint64_t{1})) * kHashFactor;
  hash_ ^= hash_ >> 29;
  return mark;
}

StrictPath::Mark StrictPath::PushIndex(std::size_t index) {
  const Mark mark{text_.size(), hash_};
  text_ += '[';
  text_ += std::to_string(index);
  text_ += ']';
  hash_ = (hash_ ^ ~static_cast<std::uint64_t>(index)) * kHashFactor;
  hash_ ^= hash_ >> 29;
  return mark;
}

void StrictPath::Return(Mark mark) {
  text_.resize(mark.size);
  hash_ = mark.hash;
}

namespace internal {

std::vector<std::uint32_t> FirstOfEachName(std::span<const Member> members) {
  std::vector<std::uint32_t> first_of;
  const auto note = [&](std::size_t first, std::size_t repeated) {
    if (first_of.empty()) {
      first_of.resize(members.size());
      for (std::size_t i = 0; i < members.size(); ++i) first_of[i] = static_cast<std::uint32_t>(i);
    }
    first_of[repeated] = static_cast<std::uint32_t>(first);
  };
  if (members.size() <= kLinearMembers) {
    for (std::size_t i = 1; i < members.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (!SameName(members[i], members[j])) continue;
        note(j, i);
        break;
      }
    }
    return first_of;
  }
  Arena scratch;
  const std::uint64_t* index = MakeIndex(scratch, members);
  std::size_t first = static_cast<std::uint32_t>(index[0]);
  for (std::size_t i = 1; i < members.size(); ++i) {
    const std::size_t position = static_cast<std::uint32_t>(index[i]);
    if (SameName(members[position], members[first])) {
      note(first, position);
    } else {
      first = position;
    }
  }
  return first_of;
}

std::size_t KeepLast(std::span<Member> members, std::span<const std::uint32_t> first_of) {
  std::vector<std::uint32_t> new_position(members.size());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (first_of[i] == i) {
      new_position[i] = static_cast<std::uint32_t>(kept);
      members[kept++] = members[i];
    } else {
      members[new_position[first_of[i]]].value = members[i].value;
    }
  }
  return kept;
}

}  // namespace internal

Value LastOfDuplicates(Arena& arena, Value value) {
  if (value.is_array()) {
    std::vector<Value> elements;
    elements.reserve(value.size());
    bool changed = false;
    for (const Value& element : value.elements()) {
      elements.push_back(LastOfDuplicates(arena, element));
      changed = changed || !elements.back().IsSameAs(element);
    }
    return changed ? MakeArray(arena, elements) : value;
  }
  std::vector<Member> members(value.members().begin(), value.members().end());
  const std::vector<std::uint32_t> first_of = internal::FirstOfEachName(members);
  bool changed = !first_of.empty();
  if (changed) members.resize(internal::KeepLast(members, first_of));
  for (Member& member : members) {
    const Value last = LastOfDuplicates(arena, member.value);
    changed = changed || !last.IsSameAs(member.value);
    member.value = last;
  }
  return changed ? MakeObject(arena, members) : value;
}

void DuplicatePaths(Value value, std::vector<std::string>& paths) {
  StrictPath path;
  CollectPaths(value, path, paths);
}

}  // namespace portcullis::json
