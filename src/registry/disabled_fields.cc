// SPDX-License-Identifier: Apache-2.0

#include "registry/disabled_fields.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace portcullis::registry {
namespace {

// Of "attributes{}.ints": `{}` goes through all members of a map as `[]` does through a list.
struct Step {
  std::string_view name;
  bool each = false;     // the member is a list, go through its elements
  bool each_of = false;  // it is a map, go through its members
  std::string_view rest;
};

Step FirstStep(std::string_view path) {
  const std::size_t dot = path.find('.');
  Step step{path.substr(0, dot), false, false,
            dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1)};
  step.each = step.name.ends_with("[]");
  step.each_of = step.name.ends_with("{}");
  if (step.each || step.each_of) step.name.remove_suffix(2);
  return step;
}

bool IsKept(json::Value value, const DisabledField& field) {
  return !field.kept_value.empty() && value.AsString() == field.kept_value;
}

bool Uses(json::Value value, const DisabledField& field, std::string_view path) {
  const Step step = FirstStep(path);
  const json::Value member = value[step.name];
  if (step.each_of) {
    const auto members = member.members();
    return std::any_of(members.begin(), members.end(),
                       [&](const json::Member& one) { return Uses(one.value, field, step.rest); });
  }
  if (!step.each && !step.rest.empty()) return Uses(member, field, step.rest);
  if (!step.each) return !member.is_null() && !IsKept(member, field);
  for (const json::Value& element : member.elements()) {
    if (Uses(element, field, step.rest)) return true;
  }
  return false;
}

json::Value Drop(json::Arena& arena, json::Value value, const DisabledField& field,
                 std::string_view path) {
  const Step step = FirstStep(path);
  const json::Value* member = value.Find(step.name);
  if (member == nullptr) return value;
  if (step.rest.empty()) {
    return IsKept(*member, field) ? value : json::Without(arena, value, step.name);
  }
  if (step.each_of) {
    json::ObjectBuilder out(arena);
    for (const json::Member& one : member->members()) {
      out.Set(one.name(), Drop(arena, one.value, field, step.rest));
    }
    return json::With(arena, value, step.name, out.Build());
  }
  if (!step.each) {
    const json::Value left = Drop(arena, *member, field, step.rest);
    if (field.drops_empty_parent && left.is_object() && left.empty()) {
      return json::Without(arena, value, step.name);
    }
    return json::With(arena, value, step.name, left);
  }
  json::ArrayBuilder out(arena);
  for (const json::Value& element : member->elements()) {
    out.Add(Drop(arena, element, field, step.rest));
  }
  return json::With(arena, value, step.name, out.Build());
}

std::vector<std::string_view> Names(std::string_view base) {
  std::vector<std::string_view> names;
  while (!base.empty()) {
    const Step step = FirstStep(base);
    names.push_back(step.name);
    base = step.rest;
  }
  return names;
}

json::Value At(json::Value value, std::string_view base) {
  while (!base.empty()) {
    const Step step = FirstStep(base);
    value = value[step.name];
    base = step.rest;
  }
  return value;
}

bool UsesGate(json::Value value, std::span<const DisabledField> fields, std::string_view gate) {
  return std::any_of(fields.begin(), fields.end(), [&](const DisabledField& field) {
    return field.gate == gate && Uses(value, field, field.path);
  });
}

bool IsOn(const Context& ctx, std::string_view gate) { return ctx.release->GateEnabled(gate); }

}  // namespace

json::Value WithoutDisabledFields(const Context& ctx, std::span<const DisabledField> fields,
                                  std::string_view base, json::Value object, json::Value old) {
  const json::Value before = At(object, base);
  const json::Value stored = At(old, base);
  json::Value after = before;
  bool changed = false;
  for (const DisabledField& field : fields) {
    if (!Uses(after, field, field.path) || IsOn(ctx, field.gate)) continue;
    if (UsesGate(stored, fields, field.gate)) continue;
    after = Drop(ctx.arena, after, field, field.path);
    changed = true;
  }
  if (!changed) return object;
  if (base.empty()) return after;
  return json::SetPath(ctx.arena, object, Names(base), after);
}

}  // namespace portcullis::registry
