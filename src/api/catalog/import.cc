// SPDX-License-Identifier: Apache-2.0

// Import in three steps: the types (OpenAPI definitions joined with the Go facts), the kinds (which
// definition stands for which group, version and kind), and the resources (aggregated discovery
// joined with the legacy documents' hashes, the columns and the served-by-default list). What comes
// out is described in docs/internals/catalog.md and read by catalog_load.cc.
#include "api/catalog/import.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "api/catalog/catalog.h"
#include "api/catalog/catalog_file.h"
#include "api/catalog/go_facts.h"
#include "api/catalog/import_types.h"
#include "base/strings.h"
#include "json/writer.h"

namespace portcullis::api::catalog {
namespace {

using json::Value;

GroupVersion SplitGroupVersion(std::string_view text) {
  const auto parsed = ParseGroupVersion(text);
  return parsed.ok() ? *parsed : GroupVersion{};
}

class Importer {
 public:
  Importer(json::Arena& arena, const ImportInput& input, const GoFacts& facts)
      : arena_(arena), input_(input), facts_(facts) {}

  base::Result<Value> Run() {
    Value definitions = TRY(CollectDefinitions(arena_, input_.openapi_v2, input_.openapi_v3));
    for (const Value& addition : input_.additions) {
      for (const json::Member& member : addition["definitions"].members()) {
        definitions = json::With(arena_, definitions, member.name(), member.value);
      }
    }
    for (const json::Member& member : definitions.members()) AddKinds(member.name(), member.value);
    ReadLegacy();
    const Value aggregated = input_.discovery["aggregated"];
    if (!aggregated.is_object()) {
      return base::ConfigError("discovery has no aggregated documents");
    }
    json::ArrayBuilder groups(arena_);
    json::ArrayBuilder resources(arena_);
    for (const std::string_view root : {"/api", "/apis"}) {
      for (const Value& group : aggregated[root]["items"].elements()) {
        AddGroup(group, groups, resources);
      }
    }
    AddOtherGroups(groups, resources);
    json::ObjectBuilder catalog(arena_);
    catalog.Set("groups", groups.Build()).Set("resources", resources.Build());
    catalog.Set("kinds", KindTable());
    catalog.Set("types", ImportTypes(arena_, definitions, facts_));
    return catalog.Build();
  }

 private:
  void AddKinds(std::string_view definition, Value schema) {
    const Value kinds = schema["x-kubernetes-group-version-kind"];
    if (kinds.is_object()) AddKind(definition, kinds);
    for (const Value& kind : kinds.elements()) AddKind(definition, kind);
  }

  void AddKind(std::string_view definition, Value kind) {
    kinds_[{std::string(kind["group"].AsString()), std::string(kind["version"].AsString()),
            std::string(kind["kind"].AsString())}] = definition;
  }

  // Hashes of the storage versions, and every kind whose hash they may be.
  void ReadLegacy() {
    for (const json::Member& document : input_.discovery["legacy"].members()) {
      if (document.value["kind"].AsString() != "APIResourceList") continue;
      const GroupVersion gv = SplitGroupVersion(document.value["groupVersion"].AsString());
      for (const Value& resource : document.value["resources"].elements()) {
        const GroupVersionKind kind{gv.group, gv.version, std::string(resource["kind"].AsString())};
        by_hash_.emplace(StorageVersionHash(kind), kind);
        const std::string_view hash = resource["storageVersionHash"].AsString();
        if (!hash.empty()) {
          hashes_[base::StrCat(gv.ToString(), "/", resource["name"].AsString())] = hash;
        }
      }
    }
  }

  void AddGroup(Value group, json::ArrayBuilder& groups, json::ArrayBuilder& resources) {
    const std::string_view name = group["metadata"]["name"].AsString();
    json::ArrayBuilder versions(arena_);
    AddVersions(name, group, versions, resources);
    for (const Value& addition : input_.additions) {
      for (const Value& added : addition["groups"].elements()) {
        if (added["metadata"]["name"].AsString() != name) continue;
        AddVersions(name, added, versions, resources);
      }
    }
    names_.insert(std::string(name));
    json::ObjectBuilder entry(arena_);
    entry.Set("name", name).Set("versions", versions.Build());
    groups.Add(entry.Build());
  }

  // Groups of which the server has nothing.
  void AddOtherGroups(json::ArrayBuilder& groups, json::ArrayBuilder& resources) {
    for (const Value& addition : input_.additions) {
      for (const Value& added : addition["groups"].elements()) {
        const std::string_view name = added["metadata"]["name"].AsString();
        if (names_.contains(std::string(name))) continue;
        AddGroup(json::MakeObject(arena_, {{"metadata", added["metadata"]}}), groups, resources);
      }
    }
  }

  void AddVersions(std::string_view name, Value group, json::ArrayBuilder& versions,
                   json::ArrayBuilder& resources) {
    for (const Value& version : group["versions"].elements()) {
      const GroupVersion gv{std::string(name), std::string(version["version"].AsString())};
      if (versions_.insert(gv.ToString()).second) versions.Add(version["version"]);
      for (const Value& resource : version["resources"].elements()) {
        resources.Add(ResourceEntry(gv, resource));
      }
    }
  }

  // Aggregated discovery leaves group and version of a kind empty where they are the resource's.
  GroupVersionKind ResponseKind(const GroupVersion& gv, Value kind) {
    GroupVersionKind result{std::string(kind["group"].AsString()),
                            std::string(kind["version"].AsString()),
                            std::string(kind["kind"].AsString())};
    if (result.group.empty() && result.version.empty()) {
      result.group = gv.group;
      result.version = gv.version;
    }
    return result;
  }

  Value KindValue(const GroupVersionKind& kind) {
    return json::MakeArray(arena_,
                           {json::String(arena_, kind.group), json::String(arena_, kind.version),
                            json::String(arena_, kind.kind)});
  }

  Value JoinVerbs(Value verbs) {
    std::vector<std::string_view> names;
    for (const Value& verb : verbs.elements()) names.push_back(verb.AsString());
    return json::String(arena_, base::Join(names, ","));
  }

  bool IsServedByDefault(const GroupVersion& gv, std::string_view resource) {
    const Value served = input_.discovery["servedByDefault"];
    if (!served.is_object()) return true;
    const Value list = served[gv.ToString()];
    return std::any_of(list.elements().begin(), list.elements().end(),
                       [&](const Value& name) { return name.AsString() == resource; });
  }

  Value ResourceEntry(const GroupVersion& gv, Value resource) {
    const std::string_view name = resource["resource"].AsString();
    const std::string path = base::StrCat(gv.ToString(), "/", name);
    const GroupVersionKind kind = ResponseKind(gv, resource["responseKind"]);
    json::ObjectBuilder entry(arena_);
    entry.Set("group", gv.group).Set("version", gv.version).Set("name", name);
    entry.Set("kind", KindValue(kind)).Set("singular", resource["singularResource"]);
    if (resource["scope"].AsString() == "Namespaced") entry.Set("namespaced", true);
    const Value legacy = resource["legacy"];
    if (legacy.is_array()) {
      entry.Set("legacy", legacy);
    } else if (!IsServedByDefault(gv, name)) {
      entry.Set("optIn", true);
    }
    entry.Set("verbs", JoinVerbs(resource["verbs"]));
    if (resource.Has("shortNames")) entry.Set("shortNames", resource["shortNames"]);
    if (resource.Has("categories")) entry.Set("categories", resource["categories"]);
    const Value stored_kind = resource["storageKind"];
    const GroupVersionKind stored = {kind.group, kind.version,
                                     std::string(stored_kind.AsString(kind.kind))};
    AddStorage(path, stored, resource["verbs"], resource["storageVersion"].AsString(), entry);
    const auto deprecated = facts_.deprecated.find(base::StrCat(gv.ToString(), " ", kind.kind));
    if (deprecated != facts_.deprecated.end()) {
      entry.Set("deprecated", std::string_view(deprecated->second));
    }
    AddSubresources(gv, resource["subresources"], entry);
    AddColumns(path, GroupResource{gv.group, std::string(name)}.ToString(), entry);
    AddSelectable(path, entry);
    return entry.Build();
  }

  static bool IsStored(Value verbs) {
    return std::any_of(verbs.elements().begin(), verbs.elements().end(),
                       [](const Value& verb) { return verb.AsString() == "watch"; });
  }

  // `version`: in which version, or group and version, an addition is stored; "" for its own.
  void AddStorage(const std::string& path, const GroupVersionKind& kind, Value verbs,
                  std::string_view version, json::ObjectBuilder& entry) {
    const auto hash = hashes_.find(path);
    if (hash == hashes_.end()) {
      // Additions have no legacy document; they are stored as they are or as they say.
      GroupVersionKind stored = {kind.group, version.empty() ? kind.version : std::string(version),
                                 kind.kind};
      if (const auto cut = base::Cut(version, "/")) {
        stored.group = cut->first;
        stored.version = cut->second;
      }
      if (IsStored(verbs)) entry.Set("hash", StorageVersionHash(stored));
      if (!version.empty()) entry.Set("storage", KindValue(stored));
      return;
    }
    entry.Set("hash", hash->second);
    // A hash of a version that is no longer served tells nothing; then the resource's own counts.
    const auto stored = by_hash_.find(std::string(hash->second));
    if (stored != by_hash_.end()) entry.Set("storage", KindValue(stored->second));
  }

  void AddSubresources(const GroupVersion& gv, Value list, json::ObjectBuilder& entry) {
    if (list.empty()) return;
    json::ArrayBuilder subresources(arena_);
    for (const Value& subresource : list.elements()) {
      subresources.Add(
          json::MakeArray(arena_, {subresource["subresource"], JoinVerbs(subresource["verbs"]),
                                   KindValue(ResponseKind(gv, subresource["responseKind"]))}));
    }
    entry.Set("subresources", subresources.Build());
  }

  // The description that the server gives of the column, or that of the facts.
  Value Description(const std::string& resource, Value column) {
    const Value given = column["description"];
    if (!given.AsString().empty()) return given;
    const std::string name(column["name"].AsString());
    auto found = facts_.columns.find({resource, name});
    if (found == facts_.columns.end()) found = facts_.columns.find({"*", name});
    return Value::StringView(found == facts_.columns.end() ? std::string_view() : found->second);
  }

  void AddColumns(const std::string& path, const std::string& resource,
                  json::ObjectBuilder& entry) {
    Value list = input_.table_columns[path];
    for (const Value& addition : input_.additions) {
      if (list.empty()) list = addition["columns"][path];
    }
    if (list.empty()) return;
    json::ArrayBuilder columns(arena_);
    for (const Value& column : list.elements()) {
      columns.Add(json::MakeArray(arena_, {column["name"], column["type"], column["format"],
                                           column["priority"], Description(resource, column)}));
    }
    entry.Set("columns", columns.Build());
  }

  void AddSelectable(const std::string& path, json::ObjectBuilder& entry) {
    const auto fields = facts_.selectable.find(path);
    if (fields == facts_.selectable.end()) return;
    json::ArrayBuilder list(arena_);
    for (const std::string_view field : fields->second) list.Add(field);
    entry.Set("selectable", list.Build());
  }

  Value KindTable() {
    json::ArrayBuilder table(arena_);
    for (const auto& [kind, definition] : kinds_) {
      table.Add(json::MakeArray(
          arena_, {json::String(arena_, kind.group), json::String(arena_, kind.version),
                   json::String(arena_, kind.kind), Value::StringView(definition)}));
    }
    return table.Build();
  }

  json::Arena& arena_;
  const ImportInput& input_;
  const GoFacts& facts_;
  std::map<GroupVersionKind, std::string_view> kinds_;
  std::set<std::string> versions_;  // that have been added
  std::set<std::string> names_;     // of groups; likewise
  std::map<std::string, GroupVersionKind> by_hash_;
  std::map<std::string, std::string_view> hashes_;
};

}  // namespace

base::Result<std::string> Import(const ImportInput& input) {
  const GoFacts facts = TRY(ParseGoFacts(input.go_facts));
  json::Arena arena;
  const Value catalog = TRY(Importer(arena, input, facts).Run());
  json::WriteOptions plain;
  plain.escape_html = false;
  std::vector<std::pair<std::string, std::string>> sections;
  sections.emplace_back(kCatalogSection, json::ToString(catalog, plain));
  if (input.openapi_v2.is_object()) {
    sections.emplace_back(kOpenApiV2Section, json::ToString(input.openapi_v2, plain));
  }
  if (input.openapi_v3.is_object()) {
    sections.emplace_back(kOpenApiV3Section, json::ToString(input.openapi_v3["documents"], plain));
  }
  return PackSections(sections);
}

}  // namespace portcullis::api::catalog
