// SPDX-License-Identifier: Apache-2.0

#include "json/sorted.h"

#include <algorithm>
#include <span>
#include <vector>

namespace portcullis::json {
namespace {

// Members and elements lie on stacks of their own, so that documents nested ten thousand deep need
// little of the thread's.
class Sorter {
 public:
  explicit Sorter(Arena& arena) : arena_(arena) {}

  Value Sort(Value value) {
    if (value.empty()) return value;
    return value.is_array() ? Elements(value) : Members(value);
  }

 private:
  Value Elements(Value list) {
    const std::size_t first = elements_.size();
    bool changed = false;
    for (const Value& element : list.elements()) {
      const Value sorted = Sort(element);
      changed = changed || !sorted.IsSameAs(element);
      elements_.push_back(sorted);
    }
    const Value result = changed ? MakeArray(arena_, std::span(elements_).subspan(first)) : list;
    elements_.resize(first);
    return result;
  }

  Value Members(Value object) {
    const std::size_t first = members_.size();
    bool changed = false;
    for (Member member : object.members()) {
      const Value sorted = Sort(member.value);
      changed = changed || !sorted.IsSameAs(member.value);
      member.value = sorted;
      members_.push_back(member);
    }
    const auto own = std::span(members_).subspan(first);
    if (!std::is_sorted(own.begin(), own.end(), HasLowerName)) {
      std::sort(own.begin(), own.end(), HasLowerName);
      changed = true;
    }
    const Value result = changed ? MakeObject(arena_, own) : object;
    members_.resize(first);
    return result;
  }

  Arena& arena_;
  std::vector<Value> elements_;  // of the lists being sorted, innermost last
  std::vector<Member> members_;  // likewise of objects
};

}  // namespace

bool HasLowerName(const Member& a, const Member& b) {
  // Most names differ in their first byte, which takes no call to see.
  if (a.name_size > 0 && b.name_size > 0 && *a.name_data != *b.name_data) {
    return static_cast<unsigned char>(*a.name_data) < static_cast<unsigned char>(*b.name_data);
  }
  return a.name() < b.name();
}

std::vector<const Member*> MembersByName(Value object) {
  std::vector<const Member*> members;
  members.reserve(object.members().size());
  AppendMembersByName(object, members);
  return members;
}

void AppendMembersByName(Value object, std::vector<const Member*>& out) {
  const auto first = static_cast<std::ptrdiff_t>(out.size());
  for (const Member& member : object.members()) out.push_back(&member);
  const auto lower = [](const Member* a, const Member* b) { return HasLowerName(*a, *b); };
  if (std::is_sorted(out.begin() + first, out.end(), lower)) return;  // as maps are once decoded
  std::sort(out.begin() + first, out.end(), lower);
}

Value Sorted(Arena& arena, Value value) {
  return IsSorted(value) ? value : Sorter(arena).Sort(value);
}

bool IsSorted(Value value) {
  for (const Value& element : value.elements()) {
    if (!element.empty() && !IsSorted(element)) return false;
  }
  const Member* before = nullptr;
  for (const Member& member : value.members()) {
    if (before != nullptr && !(before->name() < member.name())) return false;
    if (!member.value.empty() && !IsSorted(member.value)) return false;
    before = &member;
  }
  return true;
}

}  // namespace portcullis::json
