// SPDX-License-Identifier: Apache-2.0

#include "engine/subresources/subresource_body.h"

#include "api/patch/managed_fields.h"
#include "api/schema/decode.h"
#include "engine/codec/codec.h"
#include "engine/write/system_fields.h"

namespace portcullis::engine {

json::Value CreatedStatus(json::Arena& arena) {
  return json::ObjectBuilder(arena)
      .Set("kind", "Status")
      .Set("apiVersion", "v1")
      .Set("metadata", json::MakeObject(arena, {}))
      .Set("status", "Success")
      .Set("code", 201)
      .Build();
}

namespace {

// Kubernetes notes who has set the fields of what is posted, though no such object is stored.
json::Value TrackBody(Operation& op, json::Value body, std::string_view manager) {
  const api::schema::Schema* schema = op.catalog->FindSchema(op.kind());
  if (schema == nullptr) return body;
  const auto nothing = api::schema::Decode(op.arena, *schema, json::MakeObject(op.arena, {}));
  if (!nothing.ok()) return body;
  const FieldWriter by(op, manager, op.kind());
  return api::patch::Track(op.arena, *schema, *nothing, body, by.writer());
}

}  // namespace

base::Result<json::Value> DecodeSubresourceBody(Operation& op, const Input& input) {
  json::Value body = TRY(DecodeInput(op, input));
  // In these bodies uid and resourceVersion are preconditions.
  const bool means_one = op.subresource_name() == "binding" || op.subresource_name() == "token";
  body = TRY(means_one ? MatchNamespace(op, body) : PrepareMetadata(op, body));
  return TrackBody(op, body, input.options.field_manager);
}

}  // namespace portcullis::engine
