// SPDX-License-Identifier: Apache-2.0

#include "registry/disabled_fields.h"

#include <algorithm>
#include <cassert>
#include <vector>

namespace portcullis::registry {
namespace {

// Of "attributes{}.ints": `{}` goes through all members of a map as `[]` does through a list.
struct PathStep {
  std::string_view name;
  bool each = false;     // the member is a list, go through its elements
  bool each_of = false;  // it is a map, go through its members
  std::string_view rest;
};

PathStep FirstStep(std::string_view path) {
  const std::size_t dot = path.find('.');
  PathStep step{path.substr(0, dot), false, false,
                dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1)};
  step.each = step.name.ends_with("[]");
  step.each_of = step.name.ends_with("{}");
  if (step.each || step.each_of) step.name.remove_suffix(2);
  return step;
}

bool IsKept(json::Value value, const DisabledField& field) {
  return !field.kept_value.empty() && value.AsString() == field.kept_value;
}

json::Value WithoutField(json::Arena& arena, json::Value value, const DisabledField& field,
                         std::string_view path) {
  const PathStep step = FirstStep(path);
  const json::Value* member = value.Find(step.name);
  if (member == nullptr || member->is_null()) return value;
  if (step.rest.empty()) {
    return IsKept(*member, field) ? value : json::Without(arena, value, step.name);
  }
  if (step.each_of) {
    json::ObjectBuilder out(arena);
    for (const json::Member& one : member->members()) {
      out.Set(one.name(), WithoutField(arena, one.value, field, step.rest));
    }
    return json::With(arena, value, step.name, out.Build());
  }
  if (!step.each) {
    const json::Value left = WithoutField(arena, *member, field, step.rest);
    if (field.drops_empty_parent && left.is_object() && left.empty() && !member->empty()) {
      return json::Without(arena, value, step.name);
    }
    return json::With(arena, value, step.name, left);
  }
  json::ArrayBuilder out(arena);
  for (const json::Value& element : member->elements()) {
    out.Add(WithoutField(arena, element, field, step.rest));
  }
  return json::With(arena, value, step.name, out.Build());
}

std::vector<std::string_view> Names(std::string_view base) {
  std::vector<std::string_view> names;
  while (!base.empty()) {
    const PathStep step = FirstStep(base);
    names.push_back(step.name);
    base = step.rest;
  }
  return names;
}

json::Value At(json::Value value, std::string_view base) {
  while (!base.empty()) {
    const PathStep step = FirstStep(base);
    value = value[step.name];
    base = step.rest;
  }
  return value;
}

}  // namespace

DisabledFields::DisabledFields(std::span<const DisabledField> fields) : fields_(fields) {
  assert(fields.size() <= kMost);
  for (std::size_t i = 0; i < fields.size(); ++i) Add(steps_, fields[i].path, i);
}

void DisabledFields::Add(std::vector<Step>& steps, std::string_view path, std::size_t field) {
  const PathStep first = FirstStep(path);
  auto step = std::find_if(steps.begin(), steps.end(), [&](const Step& one) {
    return one.name == first.name && one.is_list == first.each && one.is_map == first.each_of;
  });
  if (step == steps.end()) {
    step =
        steps.insert(step, {first.name, json::HashKey(first.name), first.each, first.each_of, {}});
  }
  if (first.rest.empty()) {
    step->ends.push_back(field);
  } else {
    Add(step->next, first.rest, field);
  }
}

void DisabledFields::Find(const std::vector<Step>& steps, json::Value value, Fields& found) const {
  if (!value.is_object()) return;
  for (const Step& step : steps) {
    const json::Value* member = value.Find(step.name, step.hash);
    if (member == nullptr || member->is_null()) continue;
    for (const std::size_t end : step.ends) {
      if (!IsKept(*member, fields_[end])) found.set(end);
    }
    if (step.is_list) {
      for (const json::Value& element : member->elements()) Find(step.next, element, found);
    } else if (step.is_map) {
      for (const json::Member& one : member->members()) Find(step.next, one.value, found);
    } else if (!step.next.empty()) {
      Find(step.next, *member, found);
    }
  }
}

json::Value DisabledFields::Drop(const Context& ctx, std::string_view base, json::Value object,
                                 json::Value old) const {
  Fields used;
  json::Value after = At(object, base);
  Find(steps_, after, used);
  if (used.none()) return object;
  Fields stored;
  Find(steps_, At(old, base), stored);
  const auto is_stored = [&](std::string_view gate) {
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (stored[i] && fields_[i].gate == gate) return true;
    }
    return false;
  };
  bool changed = false;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const DisabledField& field = fields_[i];
    if (!used[i] || ctx.release->GateEnabled(field.gate) || is_stored(field.gate)) continue;
    after = WithoutField(ctx.arena, after, field, field.path);
    changed = true;
  }
  if (!changed) return object;
  if (base.empty()) return after;
  return json::SetPath(ctx.arena, object, Names(base), after);
}

}  // namespace portcullis::registry
