// SPDX-License-Identifier: Apache-2.0

#include "json/shared_parts.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "json/edit.h"

namespace portcullis::json {
namespace {

constexpr std::uint32_t kMaxDepth = 100;  // deeper ones would need much of the stack

// Whether a part, perhaps with parts of `old` in it already, is all of `old`. A number is if it is written so.
bool IsAllOf(Value old, Value part) {
  return part.IsSameAs(old) && part.NumberLiteral() == old.NumberLiteral();
}

// `shared`, a copy of `value` with parts of the same texts. So its text is that of `value`.
Value WithTextOf(Arena& arena, Value shared, Value value) {
  const std::string_view text = value.source();
  if (text.empty() || shared.IsSameAs(value)) return shared;
  const internal::Source source{text.data(), static_cast<std::uint32_t>(text.size())};
  return value.is_array() ? MakeArray(arena, shared.elements(), source)
                          : MakeObject(arena, shared.members(), source);
}

Value Share(Arena& arena, Value value, Value old, Value sent) {
  if (value.type() != old.type() || value.empty() || old.empty()) return value;
  const bool is_sent_so = sent.is_null() || sent.IsSameAs(value);
  const std::string_view text = value.source();
  if (is_sent_so && !text.empty() && text == old.source()) return old;
  bool same = is_sent_so && text.empty() && value.size() == old.size();
  std::size_t at = 0;
  if (value.is_array()) {
    const Value shared = EditElements(arena, value, [&](const Value& element) {
      const Value before = old[at++];
      const Value part = Share(arena, element, before, {});
      same = same && IsAllOf(before, part);
      return part;
    });
    return same ? old : WithTextOf(arena, shared, value);
  }
  const auto in_place = old.members();
  const Value shared = EditMembers(arena, value, [&](const Member& member) {
    const bool there = at < in_place.size() && in_place[at].name() == member.name();
    const Value* const before = there ? &in_place[at].value : old.Find(member.name(), member.hash);
    ++at;
    same = same && there;
    if (before == nullptr) return member.value;
    const Value part = Share(arena, member.value, *before, sent[member.name()]);
    same = same && IsAllOf(*before, part);
    return part;
  });
  return same ? old : WithTextOf(arena, shared, value);
}

}  // namespace

Value WithPartsOf(Arena& arena, Value value, Value old, Value sent) {
  return value.depth() <= kMaxDepth ? Share(arena, value, old, sent) : value;
}

}  // namespace portcullis::json
