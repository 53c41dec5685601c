// SPDX-License-Identifier: Apache-2.0

#include "engine/write/steps.h"

#include <algorithm>
#include <vector>

#include "api/api_status.h"
#include "api/schema/defaulting.h"
#include "api/schema/order.h"
#include "api/schema/schema.h"
#include "api/stored_size.h"
#include "authz/rbac/escalation.h"
#include "engine/codec/codec.h"
#include "engine/codec/hidden_fields.h"
#include "engine/write/stages.h"

namespace portcullis::engine {

json::Value Settle(Operation& op, json::Value before, json::Value after) {
  if (before.IsSameAs(after)) return after;
  if (before["status"].IsSameAs(after["status"])) return after;
  return Recanonicalize(*op.catalog, op.arena, op.resource->kind, after, before);
}

base::Status ResourceInvalid(const Operation& op, json::Value object,
                             const api::FieldErrors& errors) {
  api::GroupKind kind = op.resource->storage_kind.group_kind();
  if (op.resource->custom) {
    kind.kind = object["kind"].AsString();
    const auto version = api::ParseGroupVersion(object["apiVersion"].AsString());
    if (version.ok()) kind.group = version->group;
  }
  base::Status refusal = api::InvalidStatus(kind, object["metadata"]["name"].AsString(), errors);
  TraceRefusal(op, kStrategy, "validation", refusal);
  return refusal;
}

base::Status CheckGrant(Operation& op, std::string_view name, json::Value object, json::Value old) {
  if (op.by_server || op.world.rbac == nullptr ||
      op.resource->resource.group != "rbac.authorization.k8s.io") {
    return base::OkStatus();
  }
  const authz::rbac::EscalationRequest request{
      op.user, op.resource->resource.resource, op.ns, name, op.name, object, old};
  return authz::rbac::CheckEscalation(request, *op.world.authorizer, *op.world.rbac);
}

base::Result<store::Encoded> EncodeWithin(Operation& op, json::Value& object, bool applied) {
  auto encoded = EncodeForStore(op, object);
  if (encoded.ok() || applied || !api::IsRequestTooLarge(encoded.status())) return encoded;
  object = json::RemovePath(op.arena, object, {"metadata", "managedFields"});
  return EncodeForStore(op, object);
}

namespace {

using api::schema::Kind;

bool IsMapOfBytes(const api::schema::Schema& schema) {
  return schema.kind == Kind::kMap && schema.element != nullptr &&
         schema.element->kind == Kind::kBytes;
}

}  // namespace

json::Value WithEmptyBytes(Operation& op, json::Value object) {
  if (op.resource->schema == nullptr || op.resource->custom) return object;
  for (const api::schema::Field& field : op.resource->schema->fields) {
    if (!IsMapOfBytes(*field.schema)) continue;
    const auto map = object[field.name].members();
    const auto is_null = [](const json::Member& member) { return member.value.is_null(); };
    if (std::none_of(map.begin(), map.end(), is_null)) continue;
    std::vector<json::Member> members(map.begin(), map.end());
    for (json::Member& member : members) {
      if (is_null(member)) member.value = json::Value::StringView("");
    }
    object = json::With(op.arena, object, field.name, json::MakeObject(op.arena, members));
  }
  return object;
}

json::Value DefaultedBody(const Operation& op) {
  return op.kind() == op.resource->kind ? op.request_object : json::Value();
}

base::Result<json::Value> WithDefaultsOfReads(Operation& op, json::Value object, json::Value known,
                                              bool& added) {
  const api::GroupVersionKind& kind = op.resource->kind;
  // Reads give custom resources the defaults of their version and of today's schema.
  if (op.resource->custom) return object;
  const json::Value read =
      WithEmptyBytes(op, op.world.defaulter->Apply(op.arena, kind, object, known));
  added = added || !(read == object);
  return read;
}

void MarkLacksDefaults(store::Encoded& encoded) { encoded.bytes += ' '; }

bool SameContent(const store::Encoded& encoded, const store::Object& current) {
  const std::string_view bytes = current.bytes();
  const std::string revision = std::to_string(current.revision());
  if (encoded.bytes.size() + revision.size() != bytes.size()) return false;
  if (encoded.revision_at != current.revision_at()) return false;
  return std::string_view(encoded.bytes).substr(0, encoded.revision_at) ==
             bytes.substr(0, encoded.revision_at) &&
         std::string_view(encoded.bytes).substr(encoded.revision_at) ==
             bytes.substr(encoded.revision_at + revision.size());
}

void DeleteCompanion(const Operation& op, std::string_view ns, std::string_view name) {
  const api::GroupResource resource = op.group_resource();
  if (!resource.group.empty() || resource.resource != "services") return;
  const store::Key endpoints{"", "endpoints", ns, name};
  if (op.world.store->Get(endpoints) == nullptr) return;
  // One that cannot be deleted stays: the Service is gone already.
  static_cast<void>(op.world.store->Delete(endpoints, {}));
}

base::Result<Outcome> Shown(Operation& op, base::Result<Outcome> outcome) {
  const api::catalog::ResourceInfo& resource = *op.resource;
  // Answers about a status show what is stored.
  const bool whole = op.subresource == nullptr;
  if (outcome.ok() && whole) {
    outcome->stored = TRY(Shown(resource, std::move(outcome->stored)));
    outcome->object = AsShown(op.arena, resource, outcome->object);
  }
  if (outcome.ok() && outcome->stored == nullptr) {
    if (resource.kind != resource.storage_kind && !resource.custom && resource.schema != nullptr &&
        op.kind() == resource.kind) {
      outcome->object = api::schema::InGoOrder(op.arena, *resource.schema, outcome->object);
    }
    outcome->object = AsWritten(op, outcome->object);
  }
  return outcome;
}

}  // namespace portcullis::engine
