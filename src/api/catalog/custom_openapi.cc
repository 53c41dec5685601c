// SPDX-License-Identifier: Apache-2.0

#include "api/catalog/custom_openapi.h"

#include <algorithm>

#include "api/catalog/custom_paths.h"
#include "base/strings.h"

namespace portcullis::api::catalog {
namespace {

using json::Value;

constexpr std::string_view kConventions =
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";
constexpr std::string_view kMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.";

std::string GroupPath(const GroupVersion& gv) {
  return base::StrCat("apis/", gv.group, "/", gv.version);
}

std::string MetadataText() {
  return base::StrCat("Standard object's metadata. More info: ", kConventions, "#metadata");
}
std::string VersionText() {
  return base::StrCat(
      "APIVersion defines the versioned schema of this representation of an object. Servers should "
      "convert recognized schemas to the latest internal value, and may reject unrecognized "
      "values. "
      "More info: ",
      kConventions, "#resources");
}
std::string KindText() {
  return base::StrCat(
      "Kind is a string value representing the REST resource this object represents. Servers may "
      "infer this from the endpoint the client submits requests to. Cannot be updated. In "
      "CamelCase. More info: ",
      kConventions, "#types-kinds");
}

}  // namespace

void CustomDocument::AddSchemas(const ResourceInfo& info, Value props,
                                json::ObjectBuilder& schemas) {
  const std::string name = CustomDefinitionName(info.kind, taken_);
  schemas.Set(arena_.Copy(name), ObjectSchema(info, props));
  const GroupVersionKind list{info.kind.group, info.kind.version, info.list_kind};
  schemas.Set(arena_.Copy(CustomDefinitionName(list, taken_)), ListSchema(info, name));
}

void CustomDocument::AddPaths(const ResourceInfo& info, json::ObjectBuilder& paths) {
  const std::string root =
      base::StrCat("/", GroupPath(info.resource.group_version()), "/",
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

Value CustomDocument::Typed(std::string_view type) {
  json::ObjectBuilder schema(arena_);
  schema.Set("type", type);
  return schema.Build();
}

Value CustomDocument::Described(Value schema, std::string_view description) {
  return json::With(arena_, schema, "description", json::String(arena_, description));
}

Value CustomDocument::Ref(std::string_view name) {
  json::ObjectBuilder ref(arena_);
  ref.Set("$ref", base::StrCat(v3_ ? "#/components/schemas/" : "#/definitions/", name));
  return ref.Build();
}

Value CustomDocument::DescribedRef(std::string_view name, std::string_view description) {
  const Value ref = Ref(name);
  if (!v3_) return Described(ref, description);
  json::ObjectBuilder wrapped(arena_);
  wrapped.Set("allOf", json::MakeArray(arena_, {ref}));
  return Described(wrapped.Build(), description);
}

Value CustomDocument::KindValue(const GroupVersionKind& kind) {
  json::ObjectBuilder entry(arena_);
  entry.Set("group", kind.group).Set("kind", kind.kind).Set("version", kind.version);
  return entry.Build();
}

Value CustomDocument::Kinds(const GroupVersionKind& kind) {
  return json::MakeArray(arena_, {KindValue(kind)});
}

Value CustomDocument::WithSelectableFields(const ResourceInfo& info, Value schema) {
  if (info.selectable_fields.empty()) return schema;
  json::ArrayBuilder fields(arena_);
  for (const std::string& path : info.selectable_fields) {
    fields.Add(json::ObjectBuilder(arena_).Set("fieldPath", std::string_view(path)).Build());
  }
  return json::With(arena_, schema, "x-kubernetes-selectable-fields", fields.Build());
}

Value CustomDocument::MapMembers(Value props, Value (CustomDocument::*function)(Value)) {
  if (const Value properties = props["properties"]; properties.is_object()) {
    json::ObjectBuilder mapped(arena_);
    for (const json::Member& member : properties.members()) {
      mapped.Set(member.name(), (this->*function)(member.value));
    }
    props = json::With(arena_, props, "properties", mapped.Build());
  }
  for (const std::string_view name : {"items", "additionalProperties"}) {
    const Value below = props[name];
    if (below.is_object()) props = json::With(arena_, props, name, (this->*function)(below));
  }
  return props;
}

Value CustomDocument::ForV2(Value props) {
  for (const std::string_view name : {"allOf", "oneOf", "anyOf", "not"}) {
    if (props.Has(name)) props = json::Without(arena_, props, name);
  }
  const bool preserves = props["x-kubernetes-preserve-unknown-fields"].AsBool();
  const bool nullable = props["nullable"].AsBool();
  if (nullable || preserves) {
    for (const std::string_view name : {"items", "properties"}) {
      if (props.Has(name)) props = json::Without(arena_, props, name);
    }
  }
  const std::string_view type = props["type"].AsString();
  if (nullable || (type == "array" && !props["items"].is_object()) ||
      (preserves && type == "object")) {
    props = json::Without(arena_, props, "type");
  }
  if (nullable) props = json::Without(arena_, props, "nullable");
  if (props["required"].is_array()) {
    json::ArrayBuilder required(arena_);
    for (const Value& name : props["required"].elements()) {
      if (!props["properties"][name.AsString()]["nullable"].AsBool()) required.Add(name);
    }
    props = required.size() == 0 ? json::Without(arena_, props, "required")
                                 : json::With(arena_, props, "required", required.Build());
  }
  return MapMembers(props, &CustomDocument::ForV2);
}

Value CustomDocument::WithEmbedded(Value props) {
  props = MapMembers(props, &CustomDocument::WithEmbedded);
  if (!props["x-kubernetes-embedded-resource"].AsBool()) return props;
  if (!v3_ && props["x-kubernetes-preserve-unknown-fields"].AsBool()) return props;
  json::ObjectBuilder properties(arena_, props["properties"]);
  properties.Set(
      "apiVersion",
      Described(Typed("string"), base::StrCat("apiVersion defines the versioned schema of this "
                                              "representation of an object. More info: ",
                                              kConventions, "#resources")));
  properties.Set("kind", Described(Typed("string"),
                                   base::StrCat("kind is a string value representing the type of "
                                                "this object. In CamelCase. More info: ",
                                                kConventions, "#types-kinds")));
  properties.Set("metadata", DescribedRef(base::StrCat(kMeta, "ObjectMeta"), MetadataText()));
  props = json::With(arena_, props, "properties", properties.Build());
  json::ArrayBuilder required(arena_);
  for (const Value& name : props["required"].elements()) required.Add(name);
  const auto names = props["required"].elements();
  for (const std::string_view name : {"kind", "apiVersion"}) {
    const bool known = std::any_of(names.begin(), names.end(),
                                   [&](const Value& one) { return one.AsString() == name; });
    if (!known) required.Add(name);
  }
  return json::With(arena_, props, "required", required.Build());
}

Value CustomDocument::ObjectSchema(const ResourceInfo& info, Value props) {
  Value schema = Typed("object");
  const bool opaque = !v3_ && props["x-kubernetes-preserve-unknown-fields"].AsBool();
  if (props.is_object() && !opaque) {
    schema = WithEmbedded(v3_ ? props : ForV2(props));
    json::ObjectBuilder properties(arena_, schema["properties"]);
    properties.Set("apiVersion", Described(Typed("string"), VersionText()));
    properties.Set("kind", Described(Typed("string"), KindText()));
    properties.Set("metadata", DescribedRef(base::StrCat(kMeta, "ObjectMeta"), MetadataText()));
    schema = json::With(arena_, schema, "properties", properties.Build());
  }
  schema = json::With(arena_, schema, "x-kubernetes-group-version-kind", Kinds(info.kind));
  return WithSelectableFields(info, schema);
}

Value CustomDocument::ListSchema(const ResourceInfo& info, std::string_view item) {
  json::ObjectBuilder items(arena_);
  items.Set("description",
            base::StrCat("List of ", info.resource.resource, ". More info: ", kConventions));
  items.Set("type", "array").Set("items", Ref(item));
  json::ObjectBuilder properties(arena_);
  properties.Set("apiVersion", Described(Typed("string"), VersionText()));
  properties.Set("items", items.Build());
  properties.Set("kind", Described(Typed("string"), KindText()));
  properties.Set("metadata", DescribedRef(base::StrCat(kMeta, "ListMeta"),
                                          base::StrCat("Standard list metadata. More info: ",
                                                       kConventions, "#types-kinds")));
  const GroupVersionKind kind{info.kind.group, info.kind.version, info.list_kind};
  const Value list =
      json::ObjectBuilder(arena_)
          .Set("description", base::StrCat(info.list_kind, " is a list of ", info.kind.kind))
          .Set("type", "object")
          .Set("required", json::MakeArray(arena_, {Value::StringView("items")}))
          .Set("properties", properties.Build())
          .Set("x-kubernetes-group-version-kind", Kinds(kind))
          .Build();
  return WithSelectableFields(info, list);
}

Value CustomDocument::Query(std::string_view name, std::string_view type) {
  json::ObjectBuilder parameter(arena_);
  parameter.Set("in", "query").Set("name", name);
  if (v3_) {
    parameter.Set("schema", Typed(type));
  } else {
    parameter.Set("type", type).Set("uniqueItems", true);
  }
  return parameter.Build();
}

Value CustomDocument::Operation(const ResourceInfo& info, std::string_view action) {
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

}  // namespace portcullis::api::catalog
