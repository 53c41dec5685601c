#include "engine/write/cluster_writer.h"

#include "api/api_status.h"
#include "api/patch/field_set.h"
#include "api/patch/managed_fields.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "registry/object_meta.h"
#include "store/store.h"

namespace portcullis::engine {
namespace {

api::UserInfo ServerUser() {
  api::UserInfo user;
  user.name = "system:apiserver";
  user.groups = {std::string(api::kGroupMasters), std::string(api::kGroupAuthenticated)};
  return user;
}

registry::Context MakeContext(const World& world, json::Arena& arena,
                              const api::catalog::ResourceInfo& resource, const api::UserInfo& user,
                              std::string_view ns, std::string_view name) {
  registry::Context context{arena, resource.resource, resource.kind, "", name, ns,
                            user,  *world.clock};
  context.reader = world.store;
  context.services = world.services;
  context.expressions = world.expressions;
  context.authorizer = world.authorizer;
  return context;
}

store::Key KeyOf(const api::catalog::ResourceInfo& resource, json::Value object) {
  return {resource.storage_kind.group, resource.resource.resource,
          resource.namespaced ? object["metadata"]["namespace"].AsString() : std::string_view(),
          object["metadata"]["name"].AsString()};
}

base::Result<json::Value> Canonicalized(const World& world, const api::catalog::Catalog& catalog,
                                        json::Arena& arena, const api::GroupVersionKind& kind,
                                        json::Value object) {
  object = Recanonicalize(catalog, arena, kind, object);
  return ApplyDefaults(world, catalog, arena, kind, object);
}

base::Result<store::ObjectPtr> CreateAs(const World& world, const api::catalog::Catalog& catalog,
                                        const api::catalog::ResourceInfo& resource,
                                        json::Arena& arena, json::Value object) {
  object = TRY(Canonicalized(world, catalog, arena, resource.kind, object));
  object = OwnedByServer(world, resource, arena, {}, object);
  object = json::SetPath(arena, object, {"metadata", "uid"}, json::String(arena, base::Uuid()));
  object = json::SetPath(arena, object, {"metadata", "creationTimestamp"},
                         json::String(arena, base::FormatTime(world.clock->Now())));
  const registry::Strategy& strategy = world.strategies->Find(resource);
  const api::UserInfo user = ServerUser();
  const std::string name(object["metadata"]["name"].AsString());
  const std::string ns(object["metadata"]["namespace"].AsString());
  const auto context = MakeContext(world, arena, resource, user, ns, name);
  const json::Value before = object;
  object = strategy.PrepareForCreate(context, object);
  if (!object["status"].IsSameAs(before["status"])) {
    object = Recanonicalize(catalog, arena, resource.kind, object);
  }
  api::FieldErrors errors;
  registry::ValidateObjectMeta(object, resource.namespaced, strategy, errors);
  strategy.Validate(context, object, errors);
  if (!errors.empty()) return api::InvalidStatus(resource.kind.group_kind(), name, errors);
  object = strategy.Canonicalize(context, object);
  object = TRY(strategy.Allocate(context, object, {}));
  return WriteObject(world, resource, arena, object, nullptr);
}

class EnvironmentWriter final : public admission::ClusterWriter {
 public:
  explicit EnvironmentWriter(const World& world) : world_(world) {}

  base::Status Create(const api::GroupVersionResource& resource, std::string_view namespace_name,
                      json::Value object) override {
    const auto catalog = world_.catalog->Get();
    const api::catalog::ResourceInfo* info = catalog->Find(resource);
    if (info == nullptr) return base::NotFound("the server could not find the requested resource");
    json::Arena arena;
    if (info->namespaced) {
      object = json::SetPath(arena, object, {"metadata", "namespace"},
                             json::String(arena, namespace_name));
    }
    object = json::With(arena, object, "kind", json::String(arena, info->kind.kind));
    object = json::With(arena, object, "apiVersion", json::String(arena, ApiVersion(info->kind)));
    const store::ObjectPtr made = TRY(CreateAs(world_, *catalog, *info, arena, object));
    if (world_.namespace_hook != nullptr && resource.group.empty() &&
        resource.resource == "namespaces") {
      world_.namespace_hook->OnCreated(std::string(made->name()), nullptr);
    }
    return base::OkStatus();
  }

  base::Result<json::Document> UpdateStatus(const api::GroupVersionResource& resource,
                                            std::string_view namespace_name, std::string_view name,
                                            json::Value object) override {
    const auto catalog = world_.catalog->Get();
    const api::catalog::ResourceInfo* info = catalog->Find(resource);
    if (info == nullptr) return base::NotFound("the server could not find the requested resource");
    const store::Key key{info->storage_kind.group, info->resource.resource,
                         info->namespaced ? namespace_name : std::string_view(), name};
    const store::ObjectPtr current = world_.store->Get(key);
    if (current == nullptr) return api::NotFoundStatus(resource.group_resource(), name);
    const std::string_view version = object["metadata"]["resourceVersion"].AsString();
    if (!version.empty() && version != std::to_string(current->revision())) {
      return api::ConflictStatus(resource.group_resource(), name,
                                 "the object has been modified; please apply your changes to the "
                                 "latest version and try again");
    }
    json::Arena arena;
    const json::Value live = TRY(FromStore(arena, current, *info));
    json::Value next = json::With(arena, live, "status", object["status"]);
    next = Recanonicalize(*catalog, arena, info->kind, next);
    next = OwnedByServer(world_, *info, arena, live, next, "status");
    const store::ObjectPtr stored = TRY(WriteObject(world_, *info, arena, next, current));
    return stored->document();
  }

 private:
  const World& world_;
};

}  // namespace

std::unique_ptr<admission::ClusterWriter> MakeClusterWriter(const World& world) {
  return std::make_unique<EnvironmentWriter>(world);
}

json::Value OwnedByServer(const World& world, const api::catalog::ResourceInfo& resource,
                          json::Arena& arena, json::Value live, json::Value next,
                          std::string_view subresource) {
  using api::patch::PathElement;
  if (resource.schema == nullptr) return next;
  api::patch::FieldSet reset;
  if (subresource == "status") {
    reset.Insert(PathElement::Field("spec"));
  } else if (resource.FindSubresource("status") != nullptr) {
    reset.Insert(PathElement::Field("status"));
  }
  const std::string version = ApiVersion(resource.kind);
  const std::string now = base::FormatTime(world.clock->Now());
  api::patch::Writer writer;
  writer.manager = "kube-apiserver";
  writer.api_version = version;
  writer.subresource = subresource;
  writer.now = now;
  writer.reset = &reset;
  if (live.is_null()) live = EmptyObject(arena, resource);
  return api::patch::Track(arena, *resource.schema, live, next, writer);
}

base::Result<store::ObjectPtr> WriteObject(const World& world,
                                           const api::catalog::ResourceInfo& resource,
                                           json::Arena& arena, json::Value object,
                                           const store::ObjectPtr& expected) {
  const store::Key key = KeyOf(resource, object);
  store::Encoded encoded = TRY(EncodeForStore(arena, object, resource));
  if (expected == nullptr) return world.store->Create(key, std::move(encoded));
  store::Preconditions preconditions;
  preconditions.revision = expected->revision();
  return world.store->Update(key, std::move(encoded), preconditions);
}

base::Status EnsureObject(const World& world, json::Value object) {
  const auto catalog = world.catalog->Get();
  const auto version = TRY(api::ParseGroupVersion(object["apiVersion"].AsString()));
  const api::catalog::ResourceInfo* resource =
      catalog->FindKind({version.group, version.version, std::string(object["kind"].AsString())});
  if (resource == nullptr) {
    return base::InternalError(
        base::StrCat("no resource for the kind ", object["kind"].AsString()));
  }
  if (world.store->Get(KeyOf(*resource, object)) != nullptr) return base::OkStatus();
  json::Arena arena;
  auto created = CreateAs(world, *catalog, *resource, arena, object);
  if (created.ok() || created.status().reason() == base::Reason::kAlreadyExists) {
    return base::OkStatus();
  }
  return created.status().Annotate(base::StrCat("creating ", object["kind"].AsString(), " ",
                                                object["metadata"]["name"].AsString()));
}

}  // namespace portcullis::engine
