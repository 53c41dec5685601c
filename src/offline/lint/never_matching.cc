// SPDX-License-Identifier: Apache-2.0

#include "offline/lint/never_matching.h"

#include "base/strings.h"
#include "offline/lint/facts.h"

namespace portcullis::offline {
namespace {

// Whether a served resource is named by the group, version and resource of the rule.
bool IsServed(const api::catalog::Catalog& catalog, json::Value rule) {
  json::Arena arena;
  const json::Value wanted = json::MakeArray(arena, {rule});
  for (const api::catalog::ResourceInfo* resource : catalog.resources()) {
    const api::GroupVersionResource& names = resource->resource;
    const auto matches = [&](std::string_view name) {
      for (const json::Value& operation : rule["operations"].elements()) {
        const std::string_view text = operation.AsString() == "*" ? "CREATE" : operation.AsString();
        if (RulesMatch(wanted, {names.group, names.version, name, text, resource->namespaced}))
          return true;
      }
      return false;
    };
    if (matches(names.resource)) return true;
    for (const api::catalog::SubresourceInfo& sub : resource->subresources) {
      if (matches(base::StrCat(names.resource, "/", sub.name))) return true;
    }
  }
  return false;
}

// A group of which the API has nothing may be a custom resource's.
bool IsKnown(const api::catalog::Catalog& catalog, json::Value rule) {
  for (const json::Value& group : rule["apiGroups"].elements()) {
    if (group.AsString() == "*" || catalog.FindGroup(group.AsString()) == nullptr) {
      return false;
    }
  }
  return !rule["apiGroups"].empty();
}

}  // namespace

bool MatchesNothing(const api::catalog::Catalog& catalog, json::Value rule) {
  return IsKnown(catalog, rule) && !IsServed(catalog, rule);
}

}  // namespace portcullis::offline
