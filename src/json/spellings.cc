// SPDX-License-Identifier: Apache-2.0

#include "json/spellings.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/strings.h"
#include "json/verbatim.h"
#include "json/writer.h"

namespace portcullis::json::internal {
namespace {

std::string_view WithoutQuotes(std::string_view quoted) {
  return quoted.substr(1, quoted.size() - 2);
}

}  // namespace

void Spellings::Note(Value text, std::string_view spelled) {
  const std::string quoted = ToString(text);
  if (spelled != WithoutQuotes(quoted)) spellings_.emplace(text.AsString().data(), spelled);
}

void Spellings::Note(Value value, Value spelled) {
  if (value.is_string()) return Note(value, spelled.AsString());
  for (std::size_t i = 0; i < spelled.elements().size(); ++i) {
    Note(value.elements()[i], spelled.elements()[i]);
  }
  for (const Member& member : spelled.members()) Note(value[member.name()], member.value);
}

std::string_view Spellings::Of(Value text) const {
  const auto found = spellings_.find(text.AsString().data());
  return found == spellings_.end() ? std::string_view() : found->second;
}

bool Spellings::Same(Value value, Value other) const {
  if (value.is_string()) return Of(value) == Of(other);
  for (std::size_t i = 0; i < value.elements().size(); ++i) {
    if (!Same(value.elements()[i], other.elements()[i])) return false;
  }
  const auto members = value.members();
  return std::all_of(members.begin(), members.end(), [&](const Member& member) {
    return Same(member.value, other[member.name()]);
  });
}

Value Spellings::CopiedText(Value text) {
  const std::string_view spelled = Of(text);
  const std::string quoted = base::StrCat("\"", spelled, "\"");
  const std::string compact = Compact(quoted);
  if (compact == quoted) return text;
  const Value copy = String(arena_, text.AsString());
  Note(copy, arena_.Copy(WithoutQuotes(compact)));
  return copy;
}

Value Spellings::Copied(Value value) {
  if (spellings_.empty()) return value;
  if (value.is_string()) return CopiedText(value);
  if (value.is_array()) {
    std::vector<Value> elements(value.elements().begin(), value.elements().end());
    for (Value& element : elements) element = Copied(element);
    return MakeArray(arena_, elements);
  }
  if (!value.is_object()) return value;
  std::vector<Member> members(value.members().begin(), value.members().end());
  for (Member& member : members) member.value = Copied(member.value);
  return MakeObject(arena_, members);
}

}  // namespace portcullis::json::internal
