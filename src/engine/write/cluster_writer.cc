// SPDX-License-Identifier: Apache-2.0

#include "engine/write/cluster_writer.h"

#include <memory>
#include <utility>

#include "api/api_status.h"
#include "api/patch/field_set.h"
#include "api/patch/managed_fields.h"
#include "base/clock.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/engine.h"
#include "engine/operation.h"
#include "engine/verbs.h"
#include "engine/write/write.h"
#include "store/store.h"

namespace portcullis::engine {
namespace {

constexpr std::string_view kManager = "kube-apiserver";

api::UserInfo ServerUser() {
  api::UserInfo user;
  user.name = "system:apiserver";
  user.groups = {std::string(api::kGroupMasters), std::string(api::kGroupAuthenticated)};
  return user;
}

store::Key KeyOfObject(const api::catalog::ResourceInfo& resource, json::Value object) {
  return {resource.storage_kind.group, resource.resource.resource,
          resource.namespaced ? object["metadata"]["namespace"].AsString() : std::string_view(),
          object["metadata"]["name"].AsString()};
}

// An operation of the server itself on an object of the resource.
void Fill(Operation& op, std::shared_ptr<const api::catalog::Catalog> catalog,
          const api::catalog::ResourceInfo& resource, json::Value object) {
  op.catalog = std::move(catalog);
  op.resource = &resource;
  op.verb = Verb::kCreate;
  if (resource.namespaced) op.ns = object["metadata"]["namespace"].AsString();
  op.name = object["metadata"]["name"].AsString();
  op.user = ServerUser();
  op.by_server = true;
  op.started = op.world.clock->Steady();
  op.deadline = base::SteadyTime::max();
}

WriteOptions ServerOptions() {
  WriteOptions options;
  options.field_manager = kManager;
  return options;
}

base::Result<Outcome> CreateAs(const World& world,
                               std::shared_ptr<const api::catalog::Catalog> catalog,
                               const api::catalog::ResourceInfo& resource, json::Value object) {
  Operation op(world);
  Fill(op, std::move(catalog), resource, object);
  object = Recanonicalize(*op.catalog, op.arena, resource.kind, object);
  object = TRY(ApplyDefaults(world, *op.catalog, op.arena, resource.kind, object));
  return CreateObject(op, object, ServerOptions());
}

class WorldWriter final : public admission::ClusterWriter {
 public:
  explicit WorldWriter(const World& world) : world_(world) {}

  base::Status Create(const api::GroupVersionResource& resource, std::string_view namespace_name,
                      json::Value object) override {
    auto catalog = world_.catalog->Get();
    const api::catalog::ResourceInfo* info = catalog->Find(resource);
    if (info == nullptr) return api::UnknownResourceStatus();
    json::Arena arena;
    if (info->namespaced) {
      object = json::SetPath(arena, object, {"metadata", "namespace"},
                             json::String(arena, namespace_name));
    }
    object = json::With(arena, object, "kind", json::String(arena, info->kind.kind));
    object = json::With(arena, object, "apiVersion", json::String(arena, ApiVersion(info->kind)));
    return CreateAs(world_, std::move(catalog), *info, object).status();
  }

  base::Result<json::Document> UpdateStatus(const api::GroupVersionResource& resource,
                                            std::string_view namespace_name, std::string_view name,
                                            json::Value object) override {
    auto catalog = world_.catalog->Get();
    const api::catalog::ResourceInfo* info = catalog->Find(resource);
    if (info == nullptr) return api::UnknownResourceStatus();
    Operation op(world_);
    Fill(op, std::move(catalog), *info, object);
    op.verb = Verb::kUpdate;
    op.subresource = info->FindSubresource("status");
    op.ns = info->namespaced ? namespace_name : std::string_view();
    op.name = name;
    UpdateSpec spec;
    spec.name = op.name;
    // The version that the caller has read is a precondition.
    const json::Value version = object["metadata"]["resourceVersion"];
    spec.transform = [&](json::Value live) -> base::Result<json::Value> {
      json::Value next = json::With(op.arena, live, "status", object["status"]);
      if (!version.AsString().empty()) {
        next = json::SetPath(op.arena, next, {"metadata", "resourceVersion"}, version);
      }
      return Recanonicalize(*op.catalog, op.arena, info->kind, next);
    };
    const Outcome outcome = TRY(UpdateObject(op, spec, ServerOptions()));
    return store::DocumentOf(outcome.stored);
  }

 private:
  const World& world_;
};

}  // namespace

std::unique_ptr<admission::ClusterWriter> MakeClusterWriter(const World& world) {
  return std::make_unique<WorldWriter>(world);
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
  writer.manager = kManager;
  writer.api_version = version;
  writer.subresource = subresource;
  writer.now = now;
  writer.reset = &reset;
  if (live.is_null()) live = EmptyObject(arena, resource);
  return api::patch::Track(arena, *resource.schema, live, next, writer);
}

base::Status UpdateByServer(const World& world, const api::catalog::ResourceInfo& resource,
                            json::Value object, std::string_view subresource) {
  Operation op(world);
  Fill(op, world.catalog->Get(), resource, object);
  op.verb = Verb::kUpdate;
  if (!subresource.empty()) op.subresource = resource.FindSubresource(subresource);
  UpdateSpec spec;
  spec.name = op.name;
  spec.transform = [&](json::Value) -> base::Result<json::Value> {
    return Recanonicalize(*op.catalog, op.arena, resource.kind, object);
  };
  return UpdateObject(op, spec, ServerOptions()).status();
}

base::Status ApplyByServer(const World& world, json::Value object, std::string_view subresource,
                           std::string_view manager) {
  Operation op(world);
  TRY(ResolveObject(op, object));
  Fill(op, op.catalog, *op.resource, object);
  op.verb = Verb::kPatch;
  op.subresource = op.resource->FindSubresource(subresource);
  Input input;
  input.applied = object;
  input.patch = PatchType::kApply;
  input.options.field_manager = manager;
  input.options.force = true;
  return Write(op, input).status();
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
  if (world.store->Get(KeyOfObject(*resource, object)) != nullptr) return base::OkStatus();
  const auto created = CreateAs(world, catalog, *resource, object);
  if (created.ok() || created.status().reason() == base::Reason::kAlreadyExists) {
    return base::OkStatus();
  }
  return created.status().Annotate(base::StrCat("creating ", object["kind"].AsString(), " ",
                                                object["metadata"]["name"].AsString()));
}

}  // namespace portcullis::engine
