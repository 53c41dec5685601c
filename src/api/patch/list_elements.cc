// SPDX-License-Identifier: Apache-2.0

#include "api/patch/list_elements.h"

#include <algorithm>

#include "json/writer.h"

namespace portcullis::api::patch {

using json::Value;
using schema::Kind;
using schema::ListType;
using schema::Schema;

Value KeyDefault(const Schema& list, std::string_view key) {
  const schema::Field* field = list.element == nullptr ? nullptr : list.element->FindField(key);
  if (field == nullptr) return {};
  if (const Value value = field->default_value(); !value.is_null()) return value;
  if (field->go_name().empty() || !field->required) return {};
  return field->schema != nullptr && field->schema->kind == Kind::kInteger ? Value::Int(0)
                                                                           : Value::StringView("");
}

bool HasName(const Schema& list, Value element) {
  if (list.list_type == ListType::kSet) {
    return !element.is_null() && !element.is_object() && !element.is_array();
  }
  if (!element.is_object()) return false;
  return list.list_map_keys.empty() ||
         std::any_of(list.list_map_keys.begin(), list.list_map_keys.end(),
                     [&](std::string_view key) {
                       return element.Has(key) || !KeyDefault(list, key).is_null();
                     });
}

PathElement StepOf(const Schema& list, Value element) {
  if (list.list_type == ListType::kSet) {
    return {PathElement::Kind::kValue, json::ToString(element, {.sort_keys = true})};
  }
  PathElement step{PathElement::Kind::kKey, "{"};
  const auto put = [&](std::string_view name) {
    const Value* value = element.Find(name);
    // A key that is null is there: it has no default, and is another one than that.
    const Value key = value != nullptr ? *value : KeyDefault(list, name);
    if (value == nullptr && key.is_null()) return;
    if (step.text.size() > 1) step.text += ',';
    json::WriteString(name, step.text);
    step.text += ':';
    json::Write(key, step.text, {.sort_keys = true});
  };
  if (std::is_sorted(list.list_map_keys.begin(), list.list_map_keys.end())) {
    for (const std::string_view name : list.list_map_keys) put(name);
  } else {
    std::vector<std::string_view> names(list.list_map_keys.begin(), list.list_map_keys.end());
    std::sort(names.begin(), names.end());
    for (const std::string_view name : names) put(name);
  }
  step.text += '}';
  return step;
}

}  // namespace portcullis::api::patch
