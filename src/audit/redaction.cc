// SPDX-License-Identifier: Apache-2.0

#include "audit/redaction.h"

#include <algorithm>
#include <span>

#include "base/strings.h"
#include "json/edit.h"

namespace portcullis::audit {
namespace {

constexpr std::string_view kRedacted = "REDACTED";
constexpr std::string_view kRedactedBase64 = "UkVEQUNURUQ=";

using Steps = std::span<const std::string>;

// The value with all texts replaced by `text`.
json::Value Hide(json::Arena& arena, json::Value value, std::string_view text) {
  if (value.is_string()) return json::Value::StringView(text);
  if (value.is_bool()) return json::Value::Bool(false);
  if (value.is_number()) return json::Value::Int(0);
  if (value.is_array()) {
    return json::EditElements(arena, value,
                              [&](json::Value one) { return Hide(arena, one, text); });
  }
  if (value.is_object()) {
    return json::EditMembers(
        arena, value, [&](const json::Member& member) { return Hide(arena, member.value, text); });
  }
  return value;
}

json::Value HideAt(json::Arena& arena, json::Value value, Steps steps, std::string_view text) {
  if (steps.empty()) return Hide(arena, value, text);
  const std::string& step = steps.front();
  const Steps rest = steps.subspan(1);
  if (value.is_array()) {
    const auto index = base::ParseInt(step);
    std::int64_t at = 0;
    return json::EditElements(arena, value, [&](json::Value one) {
      const bool chosen = step == "*" || (index && *index == at);
      ++at;
      return chosen ? HideAt(arena, one, rest, text) : one;
    });
  }
  return json::EditMembers(arena, value, [&](const json::Member& member) {
    const bool chosen = step == "*" || member.name() == step;
    return chosen ? HideAt(arena, member.value, rest, text) : member.value;
  });
}

// An operation of a JSON Patch, whose value stands at its path: nothing of it stays if one of the paths leads
// there, in it or through it.
json::Value HideInPatch(json::Arena& arena, json::Value operation, Steps steps,
                        std::string_view text) {
  const json::Value* value = operation.Find("value");
  if (value == nullptr) return operation;
  std::string_view pointer = operation["path"].AsString();
  std::size_t taken = 0;
  while (pointer.starts_with('/') && taken < steps.size()) {
    const std::size_t end = std::min(pointer.find('/', 1), pointer.size());
    const std::string name =
        base::ReplaceAll(base::ReplaceAll(pointer.substr(1, end - 1), "~1", "/"), "~0", "~");
    if (steps[taken] != "*" && steps[taken] != name) return operation;
    pointer.remove_prefix(end);
    ++taken;
  }
  return json::With(arena, operation, "value", HideAt(arena, *value, steps.subspan(taken), text));
}

// In an object, in the objects of a list, or in a patch.
json::Value HideIn(json::Arena& arena, json::Value object, Steps steps, std::string_view text) {
  if (object.is_array()) {
    return json::EditElements(arena, object, [&](json::Value operation) {
      return HideInPatch(arena, operation, steps, text);
    });
  }
  return HideAt(arena, object, steps, text);
}

// "spec.containers[*].env[*].value", "metadata.annotations[a.b/c]".
std::vector<std::string> StepsOf(std::string_view path) {
  std::vector<std::string> steps;
  std::string step;
  bool quoted = false;  // between brackets
  for (const char c : path) {
    const bool ends = quoted ? c == ']' : c == '.' || c == '[';
    if (!ends) {
      step += c;
      continue;
    }
    if (!step.empty()) steps.push_back(std::move(step));
    step.clear();
    quoted = c == '[';
  }
  if (!step.empty()) steps.push_back(std::move(step));
  return steps;
}

}  // namespace

base::Result<Redaction> Redaction::Create(const std::vector<std::string>& paths) {
  Redaction redaction;
  const auto add = [&](std::string resource, std::string_view path) {
    redaction.paths_.push_back({std::move(resource), StepsOf(path)});
  };
  add("secrets", "stringData");
  add("tokenreviews", "spec.token");
  add("", "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]");
  for (const std::string& path : paths) {
    const auto cut = base::Cut(path, ":");
    add(cut ? std::string(cut->first) : "", cut ? cut->second : std::string_view(path));
    if (redaction.paths_.back().steps.empty()) {
      return base::BadRequest(base::StrCat("a path names fields, as spec.token: ", path));
    }
  }
  return redaction;
}

json::Value Redaction::Apply(json::Arena& arena, json::Value event) const {
  event = json::Without(arena, event, "responseObject");
  const std::string_view resource = event["objectRef"]["resource"].AsString();
  for (const std::string_view member : {"requestObject", "oldObject"}) {
    json::Value object = event[member];
    if (object.is_null()) continue;
    if (resource == "secrets") {
      const std::vector<std::string> data = {"data"};
      object = HideIn(arena, object, data, kRedactedBase64);
    }
    for (const Path& path : paths_) {
      if (!path.resource.empty() && path.resource != resource) continue;
      object = HideIn(arena, object, path.steps, kRedacted);
    }
    event = json::With(arena, event, member, object);
  }
  return event;
}

}  // namespace portcullis::audit
