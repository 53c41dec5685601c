// SPDX-License-Identifier: Apache-2.0

#include "api/catalog/discovery.h"

#include <algorithm>

#include "base/strings.h"

namespace portcullis::api::catalog {
namespace {

using json::Value;

Value List(json::Arena& arena, const std::vector<std::string>& texts) {
  json::ArrayBuilder list(arena);
  for (const std::string& text : texts) list.Add(std::string_view(text));
  return list.Build();
}

// A definition that is going away advertises no writes, though updates still work.
Value VerbsOf(json::Arena& arena, const ResourceInfo& info) {
  if (info.definition == nullptr || !info.definition->terminating()) return List(arena, info.verbs);
  return List(arena, {"delete", "deletecollection", "get", "list", "watch"});
}

Value VersionEntry(json::Arena& arena, std::string_view group, std::string_view version) {
  const GroupVersion gv{std::string(group), std::string(version)};
  json::ObjectBuilder entry(arena);
  entry.Set("groupVersion", gv.ToString()).Set("version", version);
  return entry.Build();
}

Value GroupEntry(json::Arena& arena, const Catalog& catalog, const GroupInfo& group, bool alone) {
  json::ObjectBuilder entry(arena);
  if (alone) entry.Set("kind", "APIGroup").Set("apiVersion", "v1");
  entry.Set("name", group.name);
  json::ArrayBuilder versions(arena);
  for (const VersionInfo& version : ListedVersions(catalog, group)) {
    versions.Add(VersionEntry(arena, group.name, version.version));
  }
  const Value list = versions.Build();
  return entry.Set("versions", list).Set("preferredVersion", list[0]).Build();
}

Value LegacyResource(json::Arena& arena, const ResourceInfo& info) {
  json::ObjectBuilder entry(arena);
  entry.Set("name", info.resource.resource).Set("singularName", info.singular);
  entry.Set("namespaced", info.namespaced).Set("kind", info.kind.kind);
  entry.Set("verbs", VerbsOf(arena, info));
  if (!info.short_names.empty()) entry.Set("shortNames", List(arena, info.short_names));
  if (!info.categories.empty()) entry.Set("categories", List(arena, info.categories));
  if (!info.storage_version_hash.empty()) {
    entry.Set("storageVersionHash", info.storage_version_hash);
  }
  return entry.Build();
}

Value LegacySubresource(json::Arena& arena, const ResourceInfo& info,
                        const SubresourceInfo& subresource) {
  json::ObjectBuilder entry(arena);
  const std::string name = base::StrCat(info.resource.resource, "/", subresource.name);
  entry.Set("name", name).Set("singularName", "");
  entry.Set("namespaced", info.namespaced);
  if (subresource.kind.group_version() != info.resource.group_version()) {
    entry.Set("group", subresource.kind.group).Set("version", subresource.kind.version);
  }
  entry.Set("kind", subresource.kind.kind).Set("verbs", List(arena, subresource.verbs));
  return entry.Build();
}

// Group and version are left empty where they are those of a built-in resource.
Value ResponseKind(json::Arena& arena, const GroupVersionKind& kind, const ResourceInfo& info) {
  const bool named = info.custom || kind.group_version() != info.resource.group_version();
  json::ObjectBuilder entry(arena);
  entry.Set("group", named ? kind.group : "").Set("version", named ? kind.version : "");
  entry.Set("kind", kind.kind);
  return entry.Build();
}

Value AggregatedResource(json::Arena& arena, const ResourceInfo& info) {
  json::ObjectBuilder entry(arena);
  entry.Set("resource", info.resource.resource);
  entry.Set("responseKind", ResponseKind(arena, info.kind, info));
  entry.Set("scope", info.namespaced ? "Namespaced" : "Cluster");
  entry.Set("singularResource", info.singular).Set("verbs", VerbsOf(arena, info));
  if (!info.short_names.empty()) entry.Set("shortNames", List(arena, info.short_names));
  if (!info.categories.empty()) entry.Set("categories", List(arena, info.categories));
  if (info.subresources.empty()) return entry.Build();
  json::ArrayBuilder subresources(arena);
  for (const SubresourceInfo& subresource : info.subresources) {
    json::ObjectBuilder sub(arena);
    sub.Set("subresource", subresource.name);
    sub.Set("responseKind", ResponseKind(arena, subresource.kind, info));
    sub.Set("verbs", List(arena, subresource.verbs));
    subresources.Add(sub.Build());
  }
  entry.Set("subresources", subresources.Build());
  return entry.Build();
}

Value AggregatedGroup(json::Arena& arena, const Catalog& catalog, const GroupInfo& group) {
  json::ObjectBuilder metadata(arena);
  if (!group.name.empty()) metadata.Set("name", group.name);
  json::ArrayBuilder versions(arena);
  for (const VersionInfo& version : ListedVersions(catalog, group)) {
    json::ArrayBuilder resources(arena);
    for (const ResourceInfo* info : version.resources) {
      resources.Add(AggregatedResource(arena, *info));
    }
    json::ObjectBuilder entry(arena);
    entry.Set("version", version.version).Set("resources", resources.Build());
    entry.Set("freshness", "Current");
    versions.Add(entry.Build());
  }
  json::ObjectBuilder entry(arena);
  entry.Set("metadata", metadata.Build()).Set("versions", versions.Build());
  return entry.Build();
}

}  // namespace

std::vector<VersionInfo> ListedVersions(const Catalog& catalog, const GroupInfo& group) {
  std::vector<VersionInfo> listed;
  for (const ResourceInfo* info : catalog.shadowed()) {
    const GroupVersionResource& name = info->resource;
    if (name.group != group.name || catalog.ServesVersion(name.group, name.version)) continue;
    auto at = std::find_if(listed.begin(), listed.end(), [&](const VersionInfo& version) {
      return CompareKubeVersions(version.version, name.version) >= 0;
    });
    if (at == listed.end() || at->version != name.version) {
      at = listed.insert(at, {name.version, {}});
    }
    at->resources.push_back(info);
  }
  for (VersionInfo& version : listed) {
    std::sort(version.resources.begin(), version.resources.end(),
              [](const ResourceInfo* a, const ResourceInfo* b) {
                return a->resource.resource < b->resource.resource;
              });
  }
  listed.insert(listed.end(), group.versions.begin(), group.versions.end());
  return listed;
}

Value LegacyApiVersions(json::Arena& arena, const Catalog& catalog,
                        std::string_view server_address) {
  json::ArrayBuilder versions(arena);
  if (const GroupInfo* core = catalog.FindGroup("")) {
    for (const VersionInfo& version : core->versions)
      versions.Add(std::string_view(version.version));
  }
  json::ObjectBuilder address(arena);
  address.Set("clientCIDR", "0.0.0.0/0").Set("serverAddress", server_address);
  json::ObjectBuilder document(arena);
  document.Set("kind", "APIVersions").Set("versions", versions.Build());
  document.Set("serverAddressByClientCIDRs", json::MakeArray(arena, {address.Build()}));
  return document.Build();
}

Value LegacyGroupList(json::Arena& arena, const Catalog& catalog) {
  json::ArrayBuilder groups(arena);
  for (const GroupInfo& group : catalog.groups()) {
    if (!group.name.empty()) groups.Add(GroupEntry(arena, catalog, group, false));
  }
  json::ObjectBuilder document(arena);
  document.Set("kind", "APIGroupList").Set("apiVersion", "v1").Set("groups", groups.Build());
  return document.Build();
}

Value LegacyGroup(json::Arena& arena, const Catalog& catalog, std::string_view group) {
  const GroupInfo* info = catalog.FindGroup(group);
  return info == nullptr || group.empty() ? Value() : GroupEntry(arena, catalog, *info, true);
}

Value LegacyResourceList(json::Arena& arena, const Catalog& catalog, std::string_view group,
                         std::string_view version) {
  const GroupInfo* info = catalog.FindGroup(group);
  if (info == nullptr) return {};
  for (const VersionInfo& served : info->versions) {
    if (served.version != version) continue;
    json::ArrayBuilder resources(arena);
    for (const ResourceInfo* resource : served.resources) {
      resources.Add(LegacyResource(arena, *resource));
      for (const SubresourceInfo& subresource : resource->subresources) {
        resources.Add(LegacySubresource(arena, *resource, subresource));
      }
    }
    const GroupVersion gv{std::string(group), std::string(version)};
    json::ObjectBuilder document(arena);
    document.Set("kind", "APIResourceList");
    // The handler of the core group writes no apiVersion.
    if (!group.empty()) document.Set("apiVersion", "v1");
    document.Set("groupVersion", gv.ToString()).Set("resources", resources.Build());
    return document.Build();
  }
  return {};
}

Value AggregatedDiscovery(json::Arena& arena, const Catalog& catalog, bool core,
                          std::string_view version) {
  json::ArrayBuilder items(arena);
  for (const GroupInfo& group : catalog.groups()) {
    if (group.name.empty() == core) items.Add(AggregatedGroup(arena, catalog, group));
  }
  json::ObjectBuilder document(arena);
  document.Set("kind", "APIGroupDiscoveryList");
  document.Set("apiVersion", base::StrCat("apidiscovery.k8s.io/", version));
  document.Set("metadata", json::MakeObject(arena, {})).Set("items", items.Build());
  return document.Build();
}

}  // namespace portcullis::api::catalog
