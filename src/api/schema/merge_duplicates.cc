// SPDX-License-Identifier: Apache-2.0

#include "api/schema/merge_duplicates.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "api/schema/decode.h"
#include "base/strings.h"
#include "json/duplicates.h"

namespace portcullis::api::schema {
namespace {

using json::Value;

// The values of one place, in the order of the text. Never empty.
using Occurrences = std::span<const Value>;

// The values after the last one that `clears`: Go forgets what came before it.
template <typename Predicate>
Occurrences After(Occurrences values, Predicate clears) {
  const auto last = std::find_if(values.rbegin(), values.rend(), clears);
  return values.subspan(static_cast<std::size_t>(values.rend() - last));
}

bool IsNull(Value value) { return value.is_null(); }
bool IsNullOrEmpty(Value value) { return value.is_null() || value.empty(); }

class Merger {
 public:
  explicit Merger(json::Arena& arena) : arena_(arena) {}

  // The one value that decodes to what `values` decode to one after the other.
  Value Merge(const Schema& schema, bool pointer, Occurrences values) {
    if (pointer) {
      values = After(values, IsNull);
      if (values.empty()) return {};
    }
    switch (schema.kind) {
      case Kind::kStruct:
        return Struct(schema, values);
      case Kind::kMap:
        return Map(schema, values);
      case Kind::kArray:
        return Array(schema, values);
      case Kind::kUnion:
        return Union(schema, values.back());
      case Kind::kAny:
        return json::LastOfDuplicates(arena_, LastNotNull(values));
      case Kind::kIntOrString:
        return values.back().is_null() ? LastInteger(values) : values.back();
      case Kind::kQuantity:  // its text stays when null sets it to zero
      case Kind::kString:
      case Kind::kInteger:
      case Kind::kNumber:
      case Kind::kBoolean:
        return LastNotNull(values);
      default:  // bytes, and times, for which null is a value
        return values.back();
    }
  }

 private:
  static Value LastNotNull(Occurrences values) {
    const auto last = std::find_if_not(values.rbegin(), values.rend(), IsNull);
    return last != values.rend() ? *last : Value();
  }

  // IntOrString takes null for a number and leaves the number as it is.
  static Value LastInteger(Occurrences values) {
    const auto last =
        std::find_if(values.rbegin(), values.rend(), [](Value value) { return value.is_number(); });
    return last != values.rend() ? *last : Value();
  }

  Value Struct(const Schema& schema, Occurrences values) {
    std::vector<std::pair<const Field*, Value>> found;
    bool any = false;
    for (const Value& value : values) {
      any = any || value.is_object();
      for (const json::Member& member : value.members()) {
        const Field* field = schema.FindField(member.name(), member.hash);
        if (field != nullptr) found.emplace_back(field, member.value);
      }
    }
    if (!any) return {};
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<json::Member> members;
    std::vector<Value> same;
    for (std::size_t i = 0; i < found.size();) {
      const Field& field = *found[i].first;
      same.clear();
      for (; i < found.size() && found[i].first == &field; ++i) same.push_back(found[i].second);
      members.emplace_back(field.name, Merge(*field.schema, field.pointer, same));
    }
    return json::MakeObject(arena_, members);
  }

  // Entries are decoded afresh: of a key the last value counts.
  Value Map(const Schema& schema, Occurrences values) {
    values = After(values, IsNull);
    if (values.empty()) return {};
    std::vector<json::Member> members;
    for (const Value& value : values) {
      members.insert(members.end(), value.members().begin(), value.members().end());
    }
    const std::vector<std::uint32_t> first_of = json::internal::FirstOfEachName(members);
    if (!first_of.empty()) members.resize(json::internal::KeepLast(members, first_of));
    for (json::Member& member : members) {
      member.value = Element(schema, Occurrences(&member.value, 1));
    }
    return json::MakeObject(arena_, members);
  }

  Value Array(const Schema& schema, Occurrences values) {
    const Value last = values.back();
    if (IsNullOrEmpty(last)) return last;
    values = After(values, IsNullOrEmpty);
    std::vector<Value> elements;
    elements.reserve(last.size());
    // Those that have an element at i: looked at as often as they have elements.
    std::vector<Value> reaching(values.begin(), values.end());
    std::vector<Value> same;
    for (std::size_t i = 0; i < last.size(); ++i) {
      std::erase_if(reaching, [i](Value value) { return value.size() <= i; });
      same.clear();
      for (const Value& value : reaching) same.push_back(value[i]);
      elements.push_back(Element(schema, same));
    }
    return json::MakeArray(arena_, elements);
  }

  Value Element(const Schema& schema, Occurrences values) {
    if (schema.element == nullptr) return json::LastOfDuplicates(arena_, values.back());
    return Merge(*schema.element, schema.element_pointer, values);
  }

  // JSONSchemaPropsOrBool and its like begin anew with each value.
  Value Union(const Schema& schema, Value value) {
    if (value.is_object()) return Merge(*schema.element, false, Occurrences(&value, 1));
    if (!value.is_array()) return value;
    std::vector<Value> elements(value.elements().begin(), value.elements().end());
    for (Value& element : elements) {
      if (element.is_object()) element = Merge(*schema.element, false, Occurrences(&element, 1));
    }
    return json::MakeArray(arena_, elements);
  }

  json::Arena& arena_;
};

// What strict decoding reports, in the order of the text.
class StrictErrors {
 public:
  explicit StrictErrors(std::vector<std::string>& texts) : texts_(texts) {}

  void Visit(const Schema& schema, Value value) {
    switch (schema.kind) {
      case Kind::kStruct:
        return VisitStruct(schema, value);
      case Kind::kMap:
        return VisitMap(schema, value);
      case Kind::kArray:
        return VisitArray(schema, value);
      default:
        return;  // scalars, and types that decode themselves
    }
  }

 private:
  void VisitStruct(const Schema& schema, Value value) {
    std::vector<bool> seen(schema.fields.size());
    for (const json::Member& member : value.members()) {
      const json::StrictPath::Mark mark = path_.Push(member.name());
      if (const Field* field = schema.FindField(member.name(), member.hash)) {
        const auto position = static_cast<std::size_t>(field - schema.fields.data());
        if (seen[position]) Report("duplicate");
        seen[position] = true;
        Visit(*field->schema, member.value);
      } else if (!schema.preserve_unknown_fields) {
        Report("unknown");
      }
      path_.Return(mark);
    }
  }

  void VisitMap(const Schema& schema, Value value) {
    const std::vector<std::uint32_t> first_of = json::internal::FirstOfEachName(value.members());
    for (std::size_t i = 0; i < value.members().size(); ++i) {
      const json::StrictPath::Mark mark = path_.Push(value.members()[i].name());
      if (!first_of.empty() && first_of[i] != i) Report("duplicate");
      if (schema.element != nullptr) Visit(*schema.element, value.members()[i].value);
      path_.Return(mark);
    }
  }

  void VisitArray(const Schema& schema, Value value) {
    if (schema.element == nullptr) return;
    for (std::size_t i = 0; i < value.elements().size(); ++i) {
      const json::StrictPath::Mark mark = path_.PushIndex(i);
      Visit(*schema.element, value.elements()[i]);
      path_.Return(mark);
    }
  }

  void Report(std::string_view what) {
    if (path_.Report()) texts_.push_back(base::StrCat(what, " field \"", path_.text(), "\""));
  }

  json::StrictPath path_;
  std::vector<std::string>& texts_;
};

}  // namespace

base::Result<Value> MergeDuplicates(json::Arena& arena, const Schema& schema, Value input,
                                    std::vector<std::string>* strict_errors) {
  TRY(Decode(arena, schema, input));
  if (strict_errors != nullptr) StrictErrors(*strict_errors).Visit(schema, input);
  return Merger(arena).Merge(schema, false, Occurrences(&input, 1));
}

}  // namespace portcullis::api::schema
