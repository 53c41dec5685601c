#include "api/catalog/openapi.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "api/catalog/catalog_file.h"
#include "base/strings.h"
#include "json/reader.h"
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

// "stable.example.com", v1, CronTab: com.example.stable.v1.CronTab.
std::string DefinitionName(const GroupVersionKind& kind) {
  auto parts = base::Split(kind.group, '.');
  std::reverse(parts.begin(), parts.end());
  return base::StrCat(base::Join(parts, "."), ".", kind.version, ".", kind.kind);
}

// OpenAPI documents of custom resources, in the little form that kubectl needs: the schemas with
// their kinds, and the operations that tell which query parameters the server takes.
class CustomDocument {
 public:
  CustomDocument(json::Arena& arena, bool v3) : arena_(arena), v3_(v3) {}

  void AddSchemas(const ResourceInfo& info, json::ObjectBuilder& schemas) {
    const std::string name = DefinitionName(info.kind);
    schemas.Set(arena_.Copy(name), ObjectSchema(info));
    json::ObjectBuilder list(arena_);
    json::ObjectBuilder properties(arena_);
    properties.Set("apiVersion", Typed("string")).Set("kind", Typed("string"));
    properties.Set("metadata", Ref("io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"));
    json::ObjectBuilder items(arena_);
    items.Set("type", "array").Set("items", Ref(name));
    properties.Set("items", items.Build());
    list.Set("type", "object")
        .Set("required", json::MakeArray(arena_, {Value::StringView("items")}));
    list.Set("properties", properties.Build());
    const GroupVersionKind kind{info.kind.group, info.kind.version, info.list_kind};
    list.Set("x-kubernetes-group-version-kind", Kinds(kind));
    schemas.Set(arena_.Copy(DefinitionName(kind)), list.Build());
  }

  void AddPaths(const ResourceInfo& info, json::ObjectBuilder& paths) {
    const std::string root =
        base::StrCat("/", PathOf(info.resource.group_version()), "/",
                     info.namespaced ? "namespaces/{namespace}/" : "", info.resource.resource);
    json::ObjectBuilder collection(arena_);
    collection.Set("get", Operation(info, "list")).Set("post", Operation(info, "post"));
    paths.Set(arena_.Copy(root), collection.Build());
    json::ObjectBuilder item(arena_);
    for (const std::string_view verb : {"get", "put", "patch", "delete"}) {
      item.Set(verb, Operation(info, verb));
    }
    paths.Set(arena_.Copy(root + "/{name}"), item.Build());
  }

 private:
  Value Typed(std::string_view type) {
    json::ObjectBuilder schema(arena_);
    schema.Set("type", type);
    return schema.Build();
  }

  Value Ref(std::string_view name) {
    json::ObjectBuilder ref(arena_);
    ref.Set("$ref", base::StrCat(v3_ ? "#/components/schemas/" : "#/definitions/", name));
    return ref.Build();
  }

  Value KindValue(const GroupVersionKind& kind) {
    json::ObjectBuilder entry(arena_);
    entry.Set("group", kind.group).Set("kind", kind.kind).Set("version", kind.version);
    return entry.Build();
  }

  Value Kinds(const GroupVersionKind& kind) { return json::MakeArray(arena_, {KindValue(kind)}); }

  Value ObjectSchema(const ResourceInfo& info) {
    const Value props =
        info.schema->constraints != nullptr ? info.schema->constraints->props : Value();
    Value schema = props.is_object() ? props : Typed("object");
    Value properties = schema["properties"];
    properties = json::With(arena_, properties, "apiVersion", Typed("string"));
    properties = json::With(arena_, properties, "kind", Typed("string"));
    properties = json::With(arena_, properties, "metadata",
                            Ref("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"));
    schema = json::With(arena_, schema, "properties", properties);
    return json::With(arena_, schema, "x-kubernetes-group-version-kind", Kinds(info.kind));
  }

  Value Query(std::string_view name, std::string_view type) {
    json::ObjectBuilder parameter(arena_);
    parameter.Set("in", "query").Set("name", name);
    if (v3_) {
      parameter.Set("schema", Typed(type));
    } else {
      parameter.Set("type", type).Set("uniqueItems", true);
    }
    return parameter.Build();
  }

  Value Operation(const ResourceInfo& info, std::string_view action) {
    json::ObjectBuilder operation(arena_);
    json::ArrayBuilder parameters(arena_);
    const bool writes = action == "post" || action == "put" || action == "patch";
    if (writes || action == "delete") parameters.Add(Query("dryRun", "string"));
    if (writes) {
      parameters.Add(Query("fieldManager", "string")).Add(Query("fieldValidation", "string"));
    }
    if (action == "patch") parameters.Add(Query("force", "boolean"));
    if (parameters.size() > 0) operation.Set("parameters", parameters.Build());
    json::ObjectBuilder responses(arena_);
    responses.Set("200", json::MakeObject(arena_, {}));
    operation.Set("responses", responses.Build());
    operation.Set("x-kubernetes-action", action);
    operation.Set("x-kubernetes-group-version-kind", KindValue(info.kind));
    return operation.Build();
  }

  json::Arena& arena_;
  bool v3_;
};

std::vector<const ResourceInfo*> CustomOf(const Catalog& catalog, std::string_view path) {
  std::vector<const ResourceInfo*> custom;
  for (const ResourceInfo* info : catalog.resources()) {
    if (!info->custom) continue;
    if (path.empty() || PathOf(info->resource.group_version()) == path) custom.push_back(info);
  }
  return custom;
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

Value CustomV3(json::Arena& arena, const std::vector<const ResourceInfo*>& resources, Value core) {
  CustomDocument made(arena, true);
  json::ObjectBuilder schemas(arena);
  json::ObjectBuilder paths(arena);
  for (const ResourceInfo* info : resources) {
    made.AddSchemas(*info, schemas);
    made.AddPaths(*info, paths);
  }
  for (const std::string_view name :
       {"ObjectMeta", "ListMeta", "OwnerReference", "Time", "ManagedFieldsEntry", "FieldsV1"}) {
    const std::string full = base::StrCat("io.k8s.apimachinery.pkg.apis.meta.v1.", name);
    const Value schema = core["components"]["schemas"][full];
    if (!schema.is_null()) schemas.Set(arena.Copy(full), schema);
  }
  json::ObjectBuilder components(arena);
  components.Set("schemas", schemas.Build());
  json::ObjectBuilder document(arena);
  document.Set("openapi", "3.0.0").Set("info", core["info"]).Set("paths", paths.Build());
  document.Set("components", components.Build());
  return document.Build();
}

}  // namespace

base::Result<std::string> OpenApiV2(const Catalog& catalog) {
  const auto custom = CustomOf(catalog, "");
  if (custom.empty()) return UnpackSection(catalog.file(), kOpenApiV2Section);
  json::Arena arena;
  std::string text;
  Value document = TRY(UnpackDocument(catalog, kOpenApiV2Section, arena, text));
  CustomDocument made(arena, false);
  json::ObjectBuilder definitions(arena, document["definitions"]);
  json::ObjectBuilder paths(arena, document["paths"]);
  for (const ResourceInfo* info : custom) {
    made.AddSchemas(*info, definitions);
    made.AddPaths(*info, paths);
  }
  document = json::With(arena, document, "definitions", definitions.Build());
  document = json::With(arena, document, "paths", paths.Build());
  return json::ToString(document, Plain());
}

base::Result<std::vector<OpenApiV3Path>> OpenApiV3Paths(const Catalog& catalog) {
  json::Arena arena;
  std::string text;
  const Value documents = TRY(UnpackDocument(catalog, kOpenApiV3Section, arena, text));
  std::map<std::string, std::string> hashes;
  for (const json::Member& member : documents.members()) {
    const std::string path(member.name());
    if (!IsServed(catalog, path)) continue;
    hashes[path] = HashOf(member.value.source().empty() ? json::ToString(member.value, Plain())
                                                        : std::string(member.value.source()));
  }
  for (const ResourceInfo* info : CustomOf(catalog, "")) {
    const Value props =
        info->schema->constraints != nullptr ? info->schema->constraints->props : Value();
    std::string& hash = hashes[PathOf(info->resource.group_version())];
    hash = HashOf(base::StrCat(hash, info->resource.resource, json::ToString(props, Plain())));
  }
  std::vector<OpenApiV3Path> paths;
  for (const auto& [path, hash] : hashes) {
    paths.push_back({path, base::StrCat("/openapi/v3/", path, "?hash=", base::ToUpper(hash))});
  }
  return paths;
}

base::Result<std::string> OpenApiV3(const Catalog& catalog, std::string_view path) {
  json::Arena arena;
  std::string text;
  const Value documents = TRY(UnpackDocument(catalog, kOpenApiV3Section, arena, text));
  const auto custom = CustomOf(catalog, path);
  if (!custom.empty()) {
    return json::ToString(CustomV3(arena, custom, documents["api/v1"]), Plain());
  }
  const Value* document = documents.Find(path);
  if (document == nullptr || !IsServed(catalog, path)) {
    return base::NotFound("the server could not find the requested resource");
  }
  return json::ToString(*document, Plain());
}

}  // namespace portcullis::api::catalog
