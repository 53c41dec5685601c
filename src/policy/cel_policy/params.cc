// SPDX-License-Identifier: Apache-2.0

#include "policy/cel_policy/params.h"

#include "base/fiber.h"
#include "base/strings.h"
#include "store/readable.h"

namespace portcullis::policy {
namespace {

bool IsBuiltInGroup(std::string_view group) {
  return group.find('.') == std::string_view::npos || group.ends_with(".k8s.io");
}

// What takes more than a fiber is to do before it moves.
constexpr std::size_t kManyObjects = 100;
constexpr std::size_t kManyBytes = 64 * 1024;  // as stored

// All objects that a selector may find.
base::Result<std::vector<store::ObjectPtr>> List(const store::Reader& reader,
                                                 const store::Collection& collection,
                                                 std::string_view ns) {
  if (reader.Count(collection) > kManyObjects) base::Fiber::MoveCurrent();
  std::vector<store::ObjectPtr> objects = TRY(store::ListReadable(reader, collection, ns));
  std::size_t bytes = 0;
  for (const store::ObjectPtr& object : objects) bytes += object->bytes().size();
  if (bytes > kManyBytes) base::Fiber::MoveCurrent();
  return objects;
}

base::Result<store::ObjectPtr> Get(const store::Reader& reader, const store::Key& key) {
  store::ObjectPtr object = TRY(store::GetReadable(reader, key));
  if (object != nullptr && object->bytes().size() > kManyBytes) base::Fiber::MoveCurrent();
  return object;
}

base::Result<Param> Load(const store::ObjectPtr& object, const ParamSource& source,
                         const admission::Request& request,
                         const admission::ObjectInterfaces* objects, bool keep_type) {
  json::Arena& arena = request.arena();
  arena.Retain(object);
  json::Value value = object->document().root();
  if (objects != nullptr) value = TRY(objects->Convert(arena, value, source.kind));
  if (!keep_type && source.built_in) {
    value = json::Without(arena, json::Without(arena, value, "apiVersion"), "kind");
  }
  return Param{value, std::string(object->position())};
}

}  // namespace

std::optional<ParamKind> ParseParamKind(json::Value value) {
  if (!value.is_object()) return std::nullopt;
  return ParamKind{std::string(value["apiVersion"].AsString()),
                   std::string(value["kind"].AsString())};
}

std::optional<ParamRef> ParseParamRef(json::Value value, SelectorPool& selectors) {
  if (!value.is_object()) return std::nullopt;
  ParamRef ref;
  ref.name = value["name"].AsString();
  ref.ns = value["namespace"].AsString();
  if (value["selector"].is_object()) ref.selector = selectors.Get(value["selector"]);
  ref.deny_if_missing = value["parameterNotFoundAction"].AsString() == "Deny";
  return ref;
}

base::Result<ParamSource> FindParamSource(const admission::ObjectInterfaces* objects,
                                          const ParamKind& kind) {
  const api::GroupVersion version = TRY(api::ParseGroupVersion(kind.api_version));
  ParamSource source;
  source.kind = {version.group, version.version, kind.kind};
  std::vector<admission::ResourceOfKind> resources;
  if (objects != nullptr) resources = objects->ResourcesOf(source.kind);
  if (resources.empty()) {
    return base::Invalid(base::StrCat("failed to find resource referenced by paramKind: '",
                                      source.kind.ToString(), "'"));
  }
  source.resource = resources[0].resource;
  source.namespaced = resources[0].namespaced;
  source.built_in = IsBuiltInGroup(version.group);
  return source;
}

base::Result<std::vector<Param>> CollectParams(const ParamSource& source, const ParamRef& ref,
                                               const admission::Request& request,
                                               const store::Reader* reader,
                                               const admission::ObjectInterfaces* objects,
                                               bool keep_type) {
  std::string ns;
  if (source.namespaced) {
    ns = ref.ns.empty() ? request.namespace_name() : ref.ns;
    if (ns.empty()) {
      return base::Invalid(
          "cannot use namespaced paramRef in policy binding that matches cluster-scoped "
          "resources");
    }
  } else if (!ref.ns.empty()) {
    return base::Invalid(
        "paramRef.namespace must not be provided for a cluster-scoped `paramKind`");
  }
  std::vector<Param> params;
  const store::Collection collection{source.resource.group, source.resource.resource};
  if (reader != nullptr && ref.selector != nullptr) {
    if (!ref.selector->error.ok()) return base::Invalid(ref.selector->error.message());
    const std::vector<store::ObjectPtr> all = TRY(List(*reader, collection, ns));
    for (const store::ObjectPtr& object : all) {
      if (!ref.selector->labels.Matches(object->document()["metadata"]["labels"])) continue;
      params.push_back(TRY(Load(object, source, request, objects, keep_type)));
    }
  } else if (reader != nullptr) {
    const store::ObjectPtr object =
        TRY(Get(*reader, {collection.group, collection.resource, ns, ref.name}));
    if (object != nullptr) {
      params.push_back(TRY(Load(object, source, request, objects, keep_type)));
    }
  }
  if (params.empty() && ref.deny_if_missing) {
    return base::Invalid("no params found for policy binding with `Deny` parameterNotFoundAction");
  }
  return params;
}

}  // namespace portcullis::policy
