// SPDX-License-Identifier: Apache-2.0

// What codec.h offers to requests, who give their place away while a webhook converts.

#include <optional>
#include <utility>

#include "admission/recorder.h"
#include "api/conversion/conversion.h"
#include "api/conversion/custom_converter.h"
#include "api/schema/order.h"
#include "engine/codec/codec.h"
#include "engine/write/write.h"
#include "json/reader.h"

namespace portcullis::engine {
namespace {

using Waiting = std::optional<admission::WaitingForOthers>;

void LeaveForStored(Operation& op, std::span<const store::ObjectPtr> objects, Waiting& waiting) {
  if (NeedsWebhook(*op.resource, objects)) waiting.emplace(op.recorder);
}

void LeaveForValue(Operation& op, json::Value object, Waiting& waiting) {
  const api::catalog::ResourceInfo& resource = *op.resource;
  if (resource.definition == nullptr || !resource.definition->converter().blocks()) return;
  if (object["apiVersion"].AsString() == ApiVersion(resource.storage_kind)) return;
  waiting.emplace(op.recorder);
}

// A status that a write leaves alone stays as it is stored, where the version of the request shows more:
// autoscaling/v1 has averages of zero where autoscaling/v2 has none.
json::Value KeepStatus(Operation& op, json::Value object) {
  const bool keeps = op.resource->resource.group == "autoscaling" && op.subresource == nullptr &&
                     (op.verb == Verb::kUpdate || op.verb == Verb::kPatch);
  if (!keeps) return object;
  const store::ObjectPtr stored = op.world.store->Get(KeyOf(op, op.name));
  if (stored == nullptr) return object;
  op.arena.Retain(stored);
  const auto before = json::Parse(op.arena, stored->bytes(), {.borrow_text = true});
  return before.ok() && before->Has("status")
             ? json::With(op.arena, object, "status", (*before)["status"])
             : object;
}

}  // namespace

base::Result<store::Encoded> EncodeForStore(Operation& op, json::Value object) {
  Waiting waiting;
  LeaveForValue(op, object, waiting);
  if (op.resource->definition == nullptr && op.resource->kind != op.resource->storage_kind) {
    // Members of the other version come in their order there.
    object = KeepStatus(op, TRY(api::Convert(op.arena, object, op.resource->storage_kind)));
    if (const auto* schema = op.catalog->FindSchema(op.resource->storage_kind)) {
      object = api::schema::InGoOrder(op.arena, *schema, object);
    }
  }
  return EncodeForStore(op.arena, object, *op.resource);
}

base::Result<std::vector<store::ObjectPtr>> InVersion(Operation& op,
                                                      std::vector<store::ObjectPtr> objects) {
  Waiting waiting;
  LeaveForStored(op, objects, waiting);
  return InVersion(*op.resource, std::move(objects));
}

base::Result<json::Value> FromStore(Operation& op, const store::ObjectPtr& object) {
  Waiting waiting;
  LeaveForStored(op, std::span(&object, 1), waiting);
  return FromStore(op.arena, object, *op.resource);
}

base::Result<json::Value> ThroughStore(Operation& op, json::Value object) {
  Waiting waiting;
  LeaveForValue(op, object, waiting);
  return ThroughStore(op.arena, object, *op.resource);
}

base::Result<std::string_view> BytesAs(Operation& op, const store::ObjectPtr& object,
                                       std::string& scratch) {
  Waiting waiting;
  LeaveForStored(op, std::span(&object, 1), waiting);
  return BytesAs(object, *op.resource, scratch);
}

}  // namespace portcullis::engine
