// SPDX-License-Identifier: Apache-2.0

#include "server/aggregation/discovery_entry.h"

#include <cstddef>
#include <map>
#include <vector>

#include "base/strings.h"

namespace portcullis::server {
namespace {

using json::Value;

// Clients of 1.26 need the kind of an answer, even if it is empty.
Value KindOf(json::Arena& arena, Value kind) {
  json::ObjectBuilder out(arena);
  for (const std::string_view field : {"group", "version", "kind"})
    out.Set(field, kind[field].AsString());
  return out.Build();
}

Value TextsOf(json::Arena& arena, Value list) {
  json::ArrayBuilder out(arena);
  for (const Value& text : list.elements()) {
    if (text.is_string()) out.Add(text);
  }
  return out.Build();
}

Value VerbsOf(json::Arena& arena, Value from) {
  return from["verbs"].is_null() ? Value() : TextsOf(arena, from["verbs"]);
}

Value Subresource(json::Arena& arena, std::string_view name, Value kind, Value from) {
  json::ObjectBuilder out(arena);
  out.Set("subresource", name).Set("responseKind", KindOf(arena, kind));
  if (!from["acceptedTypes"].elements().empty()) {
    json::ArrayBuilder types(arena);
    for (const Value& type : from["acceptedTypes"].elements()) types.Add(KindOf(arena, type));
    out.Set("acceptedTypes", types.Build());
  }
  return out.Set("verbs", VerbsOf(arena, from)).Build();
}

struct Names {
  std::string_view resource;
  std::string_view scope;
  std::string_view singular;
};

Value Resource(json::Arena& arena, const Names& names, Value kind, Value from,
               const std::vector<Value>& subresources) {
  json::ObjectBuilder out(arena);
  out.Set("resource", names.resource).Set("responseKind", KindOf(arena, kind));
  out.Set("scope", names.scope).Set("singularResource", names.singular);
  out.Set("verbs", VerbsOf(arena, from));
  for (const std::string_view field : {"shortNames", "categories"}) {
    if (!from[field].elements().empty()) out.Set(field, TextsOf(arena, from[field]));
  }
  if (!subresources.empty()) {
    json::ArrayBuilder list(arena);
    for (const Value& subresource : subresources) list.Add(subresource);
    out.Set("subresources", list.Build());
  }
  return out.Build();
}

Value Entry(json::Arena& arena, std::string_view version, Value resources) {
  json::ObjectBuilder out(arena);
  out.Set("version", version);
  if (!resources.elements().empty()) out.Set("resources", resources);
  return out.Build();
}

}  // namespace

Value EmptyEntry(json::Arena& arena, std::string_view version) { return Entry(arena, version, {}); }

Value EntryOfAggregated(json::Arena& arena, Value entry) {
  json::ArrayBuilder resources(arena);
  for (const Value& resource : entry["resources"].elements()) {
    std::vector<Value> subresources;
    for (const Value& sub : resource["subresources"].elements()) {
      subresources.push_back(
          Subresource(arena, sub["subresource"].AsString(), sub["responseKind"], sub));
    }
    resources.Add(Resource(arena,
                           {resource["resource"].AsString(), resource["scope"].AsString(),
                            resource["singularResource"].AsString()},
                           resource["responseKind"], resource, subresources));
  }
  return Entry(arena, entry["version"].AsString(), resources.Build());
}

Value EntryOfLegacy(json::Arena& arena, Value list, std::string_view version) {
  struct Listed {
    std::string_view name;
    Value resource;  // null: only its subresources are listed
    bool namespaced = false;
    std::vector<Value> subresources;
  };
  std::vector<Listed> all;
  std::map<std::string_view, std::size_t> positions;
  const auto at = [&](std::string_view name, Value resource, bool namespaced) -> Listed& {
    const auto [found, is_new] = positions.try_emplace(name, all.size());
    if (is_new) all.push_back({name, resource, namespaced, {}});
    return all[found->second];
  };
  for (const Value& resource : list["resources"].elements()) {
    const std::string_view name = resource["name"].AsString();
    if (name.find('/') == std::string_view::npos)
      at(name, resource, resource["namespaced"].AsBool());
  }
  for (const Value& sub : list["resources"].elements()) {
    const auto parts = base::Cut(sub["name"].AsString(), "/");
    if (!parts) continue;
    at(parts->first, {}, sub["namespaced"].AsBool())
        .subresources.push_back(Subresource(arena, parts->second, sub, sub));
  }
  json::ArrayBuilder resources(arena);
  for (const Listed& listed : all) {
    const Value& resource = listed.resource;
    resources.Add(Resource(arena,
                           {listed.name, listed.namespaced ? "Namespaced" : "Cluster",
                            resource["singularName"].AsString()},
                           resource, resource, listed.subresources));
  }
  return Entry(arena, version, resources.Build());
}

}  // namespace portcullis::server
