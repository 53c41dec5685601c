// SPDX-License-Identifier: Apache-2.0

#include "api/catalog/openapi.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "api/api_status.h"
#include "api/catalog/catalog_file.h"
#include "api/catalog/custom_openapi.h"
#include "api/catalog/custom_paths.h"
#include "api/catalog/schema_openapi.h"
#include "base/digest.h"
#include "base/strings.h"
#include "json/edit.h"
#include "json/reader.h"
#include "json/sorted.h"
#include "json/writer.h"

namespace portcullis::api::catalog {
namespace {

using json::Value;

std::string PathOf(const GroupVersion& gv) {
  return gv.group.empty() ? base::StrCat("api/", gv.version)
                          : base::StrCat("apis/", gv.group, "/", gv.version);
}

json::WriteOptions Plain() {
  json::WriteOptions options;
  options.escape_html = false;
  return options;
}

// The hash tells clients whether their copy is still good; any stable function does.
std::string HashOf(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(hash >> shift);
  return base::HexEncode(bytes);
}

constexpr std::string_view kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

// A custom resource whose path is that of definitions.
bool IsOfDefinitions(const ResourceInfo& info) {
  return base::StrCat("/", PathOf(info.resource.group_version()), "/", info.resource.resource) ==
         kDefinitions;
}

std::vector<const ResourceInfo*> CustomOf(const Catalog& catalog, std::string_view path) {
  std::vector<const ResourceInfo*> custom;
  for (const auto* resources : {&catalog.resources(), &catalog.shadowed()}) {
    for (const ResourceInfo* info : *resources) {
      if (!info->custom) continue;
      if (path.empty() || PathOf(info->resource.group_version()) == path) custom.push_back(info);
    }
  }
  return custom;
}

// Built-in resources that no recorded document has, of a document or ("") of all.
std::vector<const ResourceInfo*> LegacyOf(const Catalog& catalog, std::string_view path) {
  std::vector<const ResourceInfo*> legacy;
  for (const ResourceInfo* info : catalog.resources()) {
    if (!info->legacy || info->verbs.empty()) continue;
    if (path.empty() || PathOf(info->resource.group_version()) == path) legacy.push_back(info);
  }
  return legacy;
}

base::Result<Value> UnpackDocument(const Catalog& catalog, std::string_view section,
                                   json::Arena& arena, std::string& text) {
  text = TRY(UnpackSection(catalog.file(), section));
  json::ParseOptions options;
  options.borrow_text = true;
  return json::Parse(arena, text, options);
}

// Documents of groups and versions are served as these are; others (version, logs) always.
bool IsServed(const Catalog& catalog, std::string_view path) {
  const auto parts = base::Split(path, '/');
  if (parts[0] == "apis" && parts.size() == 2) return catalog.FindGroup(parts[1]) != nullptr;
  if (parts[0] == "apis" && parts.size() == 3) return catalog.ServesVersion(parts[1], parts[2]);
  return true;
}

// The names of the definitions that a part of a document refers to: "#/definitions/NAME", or
// "#/components/schemas/NAME".
void CollectReferences(Value part, std::vector<std::string_view>& names) {
  for (const json::Member& member : part.members()) {
    const std::string_view target = member.value.AsString();
    if (member.name() == "$ref" && target.starts_with("#/")) {
      names.push_back(target.substr(target.rfind('/') + 1));
    } else {
      CollectReferences(member.value, names);
    }
  }
  for (const Value& element : part.elements()) CollectReferences(element, names);
}

// The names of the definitions that a part of a document needs, with those that these need.
std::set<std::string_view> NeededBy(Value part, Value definitions) {
  std::vector<std::string_view> open;
  CollectReferences(part, open);
  std::set<std::string_view> needed;
  while (!open.empty()) {
    const std::string_view name = open.back();
    open.pop_back();
    if (needed.insert(name).second) CollectReferences(definitions[name], open);
  }
  return needed;
}

// Whether `path` of a document ("/apis/apps/v1/watch/namespaces/{namespace}/deployments", "/apis/apps/")
// is that of a resource, or of a group and version, that is served.
bool ServesPath(const Catalog& catalog, std::string_view path) {
  const auto parts = base::Split(path.substr(1), '/');
  if (parts[0] != "apis" || parts.size() < 3) return true;
  if (parts[2].empty()) return catalog.FindGroup(parts[1]) != nullptr;
  std::size_t at = 3;
  if (at < parts.size() && parts[at] == "watch") ++at;
  if (at + 2 < parts.size() && parts[at] == "namespaces") at += 2;
  if (at >= parts.size() || parts[at].empty()) return catalog.ServesVersion(parts[1], parts[2]);
  return catalog.Find(parts[1], parts[2], parts[at]) != nullptr;
}

// The document without what --runtime-config, the release, or a feature gate leaves out: the paths, and the
// definitions that only they need.
Value ServedPart(json::Arena& arena, const Catalog& catalog, Value document, bool v3) {
  json::ObjectBuilder served(arena);
  json::ObjectBuilder left_out(arena);
  for (const json::Member& path : document["paths"].members()) {
    (ServesPath(catalog, path.name()) ? served : left_out).Add(path.name(), path.value);
  }
  if (left_out.empty()) return document;
  const Value paths = served.Build();
  const Value all = v3 ? document["components"]["schemas"] : document["definitions"];
  const auto needed = NeededBy(paths, all);
  const auto needed_no_more = NeededBy(left_out.Build(), all);
  json::ObjectBuilder definitions(arena);
  for (const json::Member& definition : all.members()) {
    if (needed.contains(definition.name()) || !needed_no_more.contains(definition.name())) {
      definitions.Add(definition.name(), definition.value);
    }
  }
  document = json::With(arena, document, "paths", paths);
  return v3 ? json::SetPath(arena, document, {"components", "schemas"}, definitions.Build())
            : json::With(arena, document, "definitions", definitions.Build());
}

constexpr std::string_view kKinds = "x-kubernetes-group-version-kind";

// The schemas that documents of custom resources refer to: those of the core group, but that
// DeleteOptions are of all groups there that clients know of.
base::Result<Value> SharedSchemas(const Catalog& catalog, json::Arena& arena, Value core,
                                  std::string& text) {
  constexpr std::string_view kOptions = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
  constexpr std::string_view kOfServers[] = {"admission.k8s.io", "apiextensions.k8s.io",
                                             "apiregistration.k8s.io", "imagepolicy.k8s.io"};
  const Value all = TRY(UnpackDocument(catalog, kOpenApiV2Section, arena, text));
  json::ArrayBuilder kinds(arena);
  for (const Value& kind : all["definitions"][kOptions][kKinds].elements()) {
    const bool is_of_servers = std::find(std::begin(kOfServers), std::end(kOfServers),
                                         kind["group"].AsString()) != std::end(kOfServers);
    if (!is_of_servers) kinds.Add(kind);
  }
  return json::SetPath(arena, core["components"]["schemas"], {kOptions, kKinds}, kinds.Build());
}

// `shared`: of all groups.
Value CustomV3(json::Arena& arena, const std::vector<const ResourceInfo*>& resources, Value shared,
               const SchemaText& text) {
  CustomDocument made(arena, true);
  json::ObjectBuilder schemas(arena);
  json::ObjectBuilder paths(arena);
  for (const ResourceInfo* info : resources) {
    made.AddSchemas(*info, text(arena, *info), schemas);
    AddCustomPaths(arena, *info, OpenApi::kV3, {}, paths);
  }
  json::ObjectBuilder document(arena);
  const Value info = json::ObjectBuilder(arena)
                         .Set("title", "Kubernetes CRD Swagger")
                         .Set("version", "v0.1.0")
                         .Build();
  document.Set("openapi", "3.0.0")
      .Set("info", info)
      .Set("paths", json::Sorted(arena, paths.Build()));
  document.Set("schemas", schemas.Build());
  for (const std::string_view name : NeededBy(document.Build(), shared)) {
    if (shared.Has(name) && schemas.Find(name) == nullptr) schemas.Set(name, shared[name]);
  }
  document.Remove("schemas");
  json::ObjectBuilder components(arena);
  components.Set("schemas", json::Sorted(arena, schemas.Build()));
  return document.Set("components", components.Build()).Build();
}

// The document of a group and version that Kubernetes has, with what it has not of a document of custom
// resources there.
Value WithShadowedV3(json::Arena& arena, Value document, Value custom) {
  const auto merged = [&](Value first, Value second) {
    json::ObjectBuilder all(arena, first);
    for (const json::Member& member : second.members()) {
      if (!first.Has(member.name())) all.Set(member.name(), member.value);
    }
    return json::Sorted(arena, all.Build());
  };
  document = json::With(arena, document, "paths", merged(document["paths"], custom["paths"]));
  return json::SetPath(arena, document, {"components", "schemas"},
                       merged(document["components"]["schemas"], custom["components"]["schemas"]));
}

// `document` (null: there is none) with the legacy resources.
Value WithLegacyV3(json::Arena& arena, const std::vector<const ResourceInfo*>& resources,
                   Value document, Value info) {
  SchemaDocument made(arena, true);
  CustomDocument operations(arena, true);
  json::ObjectBuilder schemas(arena, document["components"]["schemas"]);
  json::ObjectBuilder paths(arena, document["paths"]);
  for (const ResourceInfo* resource : resources) {
    made.AddSchemas(*resource, schemas);
    operations.AddPaths(*resource, paths);
  }
  json::ObjectBuilder components(arena, document["components"]);
  components.Set("schemas", schemas.Build());
  json::ObjectBuilder whole(arena, document);
  if (document.is_null()) whole.Set("openapi", "3.0.0").Set("info", info);
  whole.Set("paths", paths.Build()).Set("components", components.Build());
  return whole.Build();
}

const schema::Field* InitializersOf(const Catalog& catalog) {
  return catalog.object_meta()->FindField("initializers");
}

// The document as a server with initializers has it: metadata has one field more.
Value WithInitializers(json::Arena& arena, const Catalog& catalog, Value document, bool v3) {
  constexpr std::string_view kMetadata = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
  const schema::Field* field = InitializersOf(catalog);
  const Value schemas = v3 ? document["components"]["schemas"] : document["definitions"];
  if (field == nullptr || !schemas.Has(kMetadata)) return document;
  json::ObjectBuilder definitions(arena, schemas);
  const Value property = SchemaDocument(arena, v3).AddProperty(*field, definitions);
  definitions.Set(kMetadata,
                  json::SetPath(arena, schemas[kMetadata], {"properties", field->name}, property));
  return v3 ? json::SetPath(arena, document, {"components", "schemas"}, definitions.Build())
            : json::With(arena, document, "definitions", definitions.Build());
}

std::string_view TextOf(std::string_view code) {
  return code == "200"   ? "OK"
         : code == "201" ? "Created"
         : code == "202" ? "Accepted"
         : code == "401" ? "Unauthorized"
                         : "";
}

// The responses of a path's operations with the descriptions that OpenAPI demands.
Value WithResponseTexts(json::Arena& arena, Value item) {
  const auto described = [&](const json::Member& response) {
    json::ObjectBuilder with_text(arena);
    with_text.Set("description", TextOf(response.name()));
    for (const json::Member& member : response.value.members()) {
      with_text.Set(member.name(), member.value);
    }
    return with_text.Build();
  };
  return json::EditMembers(arena, item, [&](const json::Member& operation) {
    const Value responses = operation.value["responses"];
    if (responses.is_null()) return operation.value;
    return json::With(arena, operation.value, "responses",
                      json::EditMembers(arena, responses, described));
  });
}

// A document with all that its server has.
Value Finished(json::Arena& arena, const Catalog& catalog, Value document, bool v3) {
  const Value paths = json::EditMembers(arena, document["paths"], [&](const json::Member& path) {
    return WithResponseTexts(arena, path.value);
  });
  document = json::With(arena, document, "paths", paths);
  return WithInitializers(arena, catalog, document, v3);
}

}  // namespace

base::Result<std::string> OpenApiV2(const Catalog& catalog, const SchemaText& schema_text) {
  const auto custom = CustomOf(catalog, "");
  json::Arena arena;
  std::string text;
  Value document = ServedPart(arena, catalog,
                              TRY(UnpackDocument(catalog, kOpenApiV2Section, arena, text)), false);
  CustomDocument made(arena, false, document["definitions"]);
  json::ObjectBuilder definitions(arena, document["definitions"]);
  json::ObjectBuilder paths(arena, document["paths"]);
  for (const ResourceInfo* info : custom) {
    // Kubernetes' own resource of that name stays as it is.
    if (IsOfDefinitions(*info) && document["paths"].Has(kDefinitions)) continue;
    made.AddSchemas(*info, schema_text(arena, *info), definitions);
    AddCustomPaths(arena, *info, OpenApi::kV2, document["definitions"], paths);
  }
  SchemaDocument of_schemas(arena, false);
  for (const ResourceInfo* info : LegacyOf(catalog, "")) {
    of_schemas.AddSchemas(*info, definitions);
    made.AddPaths(*info, paths);
  }
  document = json::With(arena, document, "definitions", definitions.Build());
  document = json::With(arena, document, "paths", json::Sorted(arena, paths.Build()));
  return json::ToString(Finished(arena, catalog, document, false), Plain());
}

base::Result<std::vector<OpenApiV3Path>> OpenApiV3Paths(const Catalog& catalog) {
  json::Arena arena;
  std::string text;
  const Value documents = TRY(UnpackDocument(catalog, kOpenApiV3Section, arena, text));
  std::map<std::string, std::string> hashes;
  for (const json::Member& member : documents.members()) {
    const std::string path(member.name());
    if (!IsServed(catalog, path)) continue;
    std::string& hash = hashes[path];
    hash = HashOf(member.value.source().empty() ? json::ToString(member.value, Plain())
                                                : std::string(member.value.source()));
    for (const json::Member& one : member.value["paths"].members()) {
      if (!ServesPath(catalog, one.name())) hash = HashOf(base::StrCat(hash, one.name()));
    }
  }
  for (const ResourceInfo* info : CustomOf(catalog, "")) {
    std::string& hash = hashes[PathOf(info->resource.group_version())];
    hash = HashOf(
        base::StrCat(hash, info->resource.resource, std::to_string(info->definition->digest())));
  }
  for (const ResourceInfo* info : LegacyOf(catalog, "")) {
    std::string& hash = hashes[PathOf(info->resource.group_version())];
    hash = HashOf(base::StrCat(hash, info->resource.resource));
  }
  if (InitializersOf(catalog) != nullptr) {
    for (auto& [path, hash] : hashes) hash = HashOf(base::StrCat(hash, "initializers"));
  }
  std::vector<OpenApiV3Path> paths;
  for (const auto& [path, hash] : hashes) {
    const std::string shown = base::ToUpper(base::Sha512Hex(hash));  // as long as kube-apiserver's
    paths.push_back({path, base::StrCat("/openapi/v3/", path, "?hash=", shown)});
  }
  return paths;
}

base::Result<std::string> OpenApiV3(const Catalog& catalog, std::string_view path,
                                    const SchemaText& schema_text) {
  json::Arena arena;
  std::string text;
  const Value documents = TRY(UnpackDocument(catalog, kOpenApiV3Section, arena, text));
  const auto written = [&](Value document) {
    return json::ToString(Finished(arena, catalog, document, true), Plain());
  };
  const auto custom = CustomOf(catalog, path);
  std::string swagger;
  const Value* recorded = documents.Find(path);
  const Value document =
      recorded == nullptr ? Value() : ServedPart(arena, catalog, *recorded, true);
  if (!custom.empty()) {
    const Value shared = TRY(SharedSchemas(catalog, arena, documents["api/v1"], swagger));
    const Value made = CustomV3(arena, custom, shared, schema_text);
    // The server of definitions has one document for what it serves in a version itself or by definitions.
    const bool is_shadowed = !document.is_null() && IsServed(catalog, path) &&
                             !kDefinitions.starts_with(base::StrCat("/", path, "/"));
    return written(is_shadowed ? WithShadowedV3(arena, document, made) : made);
  }
  if (const auto legacy = LegacyOf(catalog, path); !legacy.empty()) {
    return written(WithLegacyV3(arena, legacy, document, documents["api/v1"]["info"]));
  }
  if (document.is_null() || !IsServed(catalog, path)) {
    return UnknownResourceStatus();
  }
  return written(document);
}

}  // namespace portcullis::api::catalog
