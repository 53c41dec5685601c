// SPDX-License-Identifier: Apache-2.0

#include "server/aggregation/merged_discovery.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/names.h"
#include "base/strings.h"

namespace portcullis::server {
namespace {

using json::Value;

constexpr std::string_view kFirstGroup = "apiregistration.k8s.io";
constexpr std::int64_t kFirstPriority = 20001;  // APIServices have at most 20000

struct Version {
  std::string name;
  std::int64_t priority = 0;
};

struct Group {
  std::int64_t priority = 0;
  std::vector<Version> versions;  // the preferred one first

  std::int64_t PriorityOf(std::string_view version) const {
    for (const Version& known : versions) {
      if (known.name == version) return known.priority;
    }
    return 0;
  }
};
using Groups = std::map<std::string, Group, std::less<>>;

bool ComesFirst(const Version& a, const Version& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  return api::CompareKubeVersions(a.name, b.name) < 0;
}

Groups ReadGroups(const store::Reader& store) {
  Groups groups;
  groups[std::string(kFirstGroup)] = {kFirstPriority, {{"v1", 0}}};
  for (const store::ObjectPtr& object : store.List({kFirstGroup, "apiservices"})) {
    const Value spec = object->document()["spec"];
    if (spec["group"].AsString().empty()) continue;
    Group& group = groups[std::string(spec["group"].AsString())];
    group.priority = std::max(group.priority, spec["groupPriorityMinimum"].AsInt());
    group.versions.push_back(
        {std::string(spec["version"].AsString()), spec["versionPriority"].AsInt()});
  }
  for (auto& [name, group] : groups)
    std::sort(group.versions.begin(), group.versions.end(), ComesFirst);
  return groups;
}

// By priority, then by name. A map has the names in order.
template <typename Map>
std::vector<typename Map::const_pointer> InOrder(const Map& groups) {
  std::vector<typename Map::const_pointer> order;
  for (const auto& entry : groups) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return a->second.priority > b->second.priority;
  });
  return order;
}

Value GroupEntry(json::Arena& arena, std::string_view name, const Group& group, bool alone) {
  json::ArrayBuilder versions(arena);
  for (const Version& version : group.versions) {
    versions.Add(json::ObjectBuilder(arena)
                     .Set("groupVersion", std::string_view(base::StrCat(name, "/", version.name)))
                     .Set("version", std::string_view(version.name))
                     .Build());
  }
  const Value list = versions.Build();
  json::ObjectBuilder entry(arena);
  if (alone) entry.Set("kind", "APIGroup").Set("apiVersion", "v1");
  return entry.Set("name", name).Set("versions", list).Set("preferredVersion", list[0]).Build();
}

// A group of an APIGroupDiscoveryList.
struct Shown {
  std::int64_t priority = 0;
  Value metadata;
  std::vector<std::pair<Version, Value>> versions;

  void Put(Version version, Value entry) {
    for (auto& [known, its_entry] : versions) {
      if (known.name != version.name) continue;
      its_entry = entry;
      return;
    }
    versions.emplace_back(std::move(version), entry);
  }
};

}  // namespace

Value MergedGroupList(json::Arena& arena, const store::Reader& store) {
  const Groups groups = ReadGroups(store);
  json::ArrayBuilder list(arena);
  for (const auto* entry : InOrder(groups))
    list.Add(GroupEntry(arena, entry->first, entry->second, false));
  return json::ObjectBuilder(arena)
      .Set("kind", "APIGroupList")
      .Set("apiVersion", "v1")
      .Set("groups", list.Build())
      .Build();
}

Value MergedGroup(json::Arena& arena, const store::Reader& store, const Aggregation& aggregation,
                  std::string_view group) {
  const auto services = aggregation.all();
  const bool is_aggregated =
      std::any_of(services->begin(), services->end(),
                  [&](const auto& entry) { return entry.second->group == group; });
  if (!is_aggregated) return {};
  const Groups groups = ReadGroups(store);
  const auto found = groups.find(group);
  return found == groups.end() ? Value() : GroupEntry(arena, group, found->second, true);
}

Value WithAggregated(json::Arena& arena, Value list, const store::Reader& store,
                     const Aggregation& aggregation) {
  const Groups groups = ReadGroups(store);
  std::map<std::string, Shown, std::less<>> shown;
  const auto group_of = [&](std::string_view name) -> const Group& {
    static const Group kUnknown;
    const auto found = groups.find(name);
    return found == groups.end() ? kUnknown : found->second;
  };
  const auto put = [&](std::string_view name, Value metadata, Value entry) {
    const Group& group = group_of(name);
    Shown& its = shown[std::string(name)];
    its.priority = group.priority;
    if (its.metadata.is_null()) its.metadata = metadata;
    const std::string_view version = entry["version"].AsString();
    its.Put({std::string(version), group.PriorityOf(version)}, entry);
  };
  for (const Value& item : list["items"].elements()) {
    for (const Value& entry : item["versions"].elements())
      put(item["metadata"]["name"].AsString(), item["metadata"], entry);
  }
  const auto services = aggregation.all();
  for (const auto& [key, service] : *services) {
    const Value entry = aggregation.DiscoveryOf(arena, *service);
    const auto name = std::string_view(service->group);
    put(name, json::ObjectBuilder(arena).Set("name", name).Build(), entry);
  }
  for (auto& [name, group] : shown) {
    std::stable_sort(group.versions.begin(), group.versions.end(),
                     [](const auto& a, const auto& b) { return ComesFirst(a.first, b.first); });
  }
  json::ArrayBuilder items(arena);
  for (const auto* group : InOrder(shown)) {
    json::ArrayBuilder versions(arena);
    for (const auto& [version, entry] : group->second.versions) versions.Add(entry);
    items.Add(json::ObjectBuilder(arena)
                  .Set("metadata", group->second.metadata)
                  .Set("versions", versions.Build())
                  .Build());
  }
  return json::ObjectBuilder(arena, list).Set("items", items.Build()).Build();
}

}  // namespace portcullis::server
