// SPDX-License-Identifier: Apache-2.0

#include "admission/trace/hiding.h"

#include <algorithm>
#include <string>

#include "base/strings.h"
#include "json/edit.h"
#include "json/pointer.h"

namespace portcullis::admission {
namespace {

// kubectl apply copies the whole object there.
constexpr std::string_view kLastApplied =
    "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration";

struct Row {
  std::string_view group;
  std::string_view resource;
  std::string_view subresource;  // "*": any, the resource itself included
  std::vector<std::string_view> places;
  bool only_if_asked;  // with hides_config_maps
};

const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = {
      {"", "secrets", "*", {"/data", "/stringData", kLastApplied}, false},
      {"", "serviceaccounts", "token", {"/status/token"}, false},
      {"authentication.k8s.io", "tokenreviews", "*", {"/spec/token"}, false},
      {"", "configmaps", "*", {"/data", "/binaryData", kLastApplied}, true},
  };
  return rows;
}

// Whether `path` is `place` or below it.
bool IsWithin(std::string_view path, std::string_view place) {
  return path.starts_with(place) && (path.size() == place.size() || path[place.size()] == '/');
}

json::Value HideAll(json::Arena& arena, json::Value value) {
  if (value.is_object()) {
    return json::EditMembers(
        arena, value, [&](const json::Member& member) { return HideAll(arena, member.value); });
  }
  if (value.is_array()) {
    return json::EditElements(arena, value,
                              [&](json::Value element) { return HideAll(arena, element); });
  }
  return value.is_null() ? value : json::Value::StringView("(hidden)");
}

}  // namespace

Hiding Hiding::Of(const api::GroupVersionResource& resource, std::string_view subresource,
                  bool hides_config_maps) {
  Hiding hiding;
  for (const Row& row : Rows()) {
    if (row.group != resource.group || row.resource != resource.resource) continue;
    if (row.subresource != "*" && row.subresource != subresource) continue;
    if (row.only_if_asked && !hides_config_maps) continue;
    hiding.places_ = row.places;
    hiding.hides_texts_ = !row.only_if_asked;
  }
  return hiding;
}

json::Value Hiding::Part(json::Arena& arena, std::string_view path, json::Value part) const {
  bool above = false;
  for (const std::string_view place : places_) {
    if (IsWithin(path, place)) return HideAll(arena, part);
    above = above || IsWithin(place, path);
  }
  if (!above || !part.is_object()) return part;
  json::ObjectBuilder shown(arena, part);
  for (const json::Member& member : part.members()) {
    const std::string below = base::StrCat(path, "/", json::EscapeToken(member.name()));
    shown.Set(member.name(), Part(arena, below, member.value));
  }
  return shown.Build();
}

json::Value Hiding::Patch(json::Arena& arena, json::Value patch) const {
  if (places_.empty()) return patch;
  return json::EditElements(arena, patch, [&](json::Value operation) {
    if (!operation.Has("value")) return operation;
    // As patches are applied (json/patch.h): what stands before the first "/" does not count.
    std::string_view path = operation["path"].AsString();
    path.remove_prefix(std::min(path.find('/'), path.size()));
    return json::With(arena, operation, "value", Part(arena, path, operation["value"]));
  });
}

}  // namespace portcullis::admission
