// SPDX-License-Identifier: Apache-2.0

#include "registry/validation/field_rules.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "api/named_value.h"
#include "base/strings.h"

namespace portcullis::registry {
namespace {

using enum FieldRuleKind;

bool IsEmpty(json::Value value) {
  return value.is_null() || (value.is_string() && value.AsString().empty()) ||
         ((value.is_array() || value.is_object()) && value.empty());
}

// Calls `visit` for each place the path leads to; absent fields are visited as null.
void Visit(json::Value value, std::string_view path, const FieldPath& at,
           const std::function<void(json::Value, const FieldPath&)>& visit) {
  if (path.empty()) {
    visit(value, at);
    return;
  }
  const std::size_t end = path.find('.');
  std::string_view step = path.substr(0, end);
  const std::string_view rest = end == std::string_view::npos ? "" : path.substr(end + 1);
  const bool each = step.ends_with("[*]");
  if (each) step.remove_suffix(3);
  const FieldPath below = at.Child(step);
  if (!each) {
    Visit(value[step], rest, below, visit);
    return;
  }
  std::size_t index = 0;
  for (const json::Value& element : value[step].elements()) {
    Visit(element, rest, below.Index(index++), visit);
  }
}

void CheckValue(const FieldRule& rule, json::Value value, const FieldPath& at,
                FieldErrors& errors) {
  switch (rule.kind) {
    case kRequired:
      if (IsEmpty(value)) errors.push_back(api::Required(at, rule.argument));
      break;
    case kOneOf: {
      if (IsEmpty(value)) break;
      const std::vector<std::string_view> allowed = base::Split(rule.argument, '|');
      for (const std::string_view text : allowed) {
        if (text == value.AsString()) return;
      }
      errors.push_back(api::NotSupported(at, api::NamedValue(value.AsString()), allowed));
      break;
    }
    case kMinimum:
      if (value.is_int() && value.AsInt() < base::ParseInt(rule.argument).value_or(0)) {
        errors.push_back(api::Invalid(
            at, value.AsInt(), base::StrCat("must be greater than or equal to ", rule.argument)));
      }
      break;
    case kPositive:
      CheckPositive(value, at, errors);
      break;
    case kDnsLabel:
      if (!IsEmpty(value)) CheckDnsLabel(value.AsString(), at, errors);
      break;
    case kSubdomain:
      if (!IsEmpty(value)) CheckSubdomain(value.AsString(), at, errors);
      break;
    case kImmutable:
    case kFrozen:
      break;
  }
}

void CheckChange(const FieldRule& rule, json::Value object, json::Value old, FieldErrors& errors) {
  json::Arena arena;
  json::Value before;
  Visit(old, rule.path, {}, [&](json::Value value, const FieldPath&) { before = value; });
  Visit(object, rule.path, {}, [&](json::Value value, const FieldPath& at) {
    if (value == before) return;
    if (rule.kind == kImmutable) {
      // A map of texts is quoted in order.
      const auto members = value.members();
      if (std::all_of(members.begin(), members.end(),
                      [](const json::Member& member) { return member.value.is_string(); })) {
        std::vector<json::Member> sorted(members.begin(), members.end());
        std::sort(sorted.begin(), sorted.end(),
                  [](const json::Member& a, const json::Member& b) { return a.name() < b.name(); });
        if (value.is_object()) value = json::MakeObject(arena, sorted);
      }
      // A text that is gone is an empty one to Go.
      const bool text = value.is_null() && before.is_string();
      errors.push_back(
          api::Invalid(at, text ? json::Value::StringView("") : value, "field is immutable"));
    } else {
      errors.push_back(api::Forbidden(at, rule.argument));
    }
  });
}

}  // namespace

void CheckFieldRules(std::span<const FieldRule> rules, json::Value object, const json::Value* old,
                     FieldErrors& errors) {
  for (const FieldRule& rule : rules) {
    if (rule.kind == kImmutable || rule.kind == kFrozen) {
      if (old != nullptr) CheckChange(rule, object, *old, errors);
      continue;
    }
    Visit(object, rule.path, {},
          [&](json::Value value, const FieldPath& at) { CheckValue(rule, value, at, errors); });
  }
}

}  // namespace portcullis::registry
