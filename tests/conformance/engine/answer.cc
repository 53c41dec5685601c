// SPDX-License-Identifier: Apache-2.0

#include "answer.h"

#include <cstdint>

#include "api/api_status.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::conformance {
namespace {

using engine::Operation;
using json::Value;

// What a webhook's Status holds and base::Status does not.
Value WithForeignParts(Operation& op, Value status) {
  const auto foreign = op.recorder.foreign_status();
  if (!foreign) return status;
  if (!foreign->status.empty()) {
    status = json::With(op.arena, status, "status", json::String(op.arena, foreign->status));
  }
  const auto metadata = json::Parse(op.arena, op.arena.Copy(foreign->metadata_json));
  return metadata.ok() ? json::With(op.arena, status, "metadata", *metadata) : status;
}

// The items of lists of built-in kinds name neither kind nor version.
Value ItemOf(const Operation& op, Value object) {
  if (op.resource->custom) return object;
  json::ObjectBuilder item(op.arena, object);
  item.Remove("kind").Remove("apiVersion");
  return item.Build();
}

}  // namespace

std::string Answer::Line(int code, std::string_view body, std::int64_t retry_after) const {
  json::ArrayBuilder headers(op_.arena);
  const auto add = [&](std::string_view name, std::string_view value) {
    json::ArrayBuilder header(op_.arena);
    header.Add(name);
    header.Add(value);
    headers.Add(header.Build());
  };
  add("Content-Type", "application/json");
  for (const std::string& warning : op_.recorder.warnings()) {
    add("Warning", admission::WarningHeader(warning));
  }
  if (retry_after > 0) add("Retry-After", std::to_string(retry_after));
  json::ObjectBuilder annotations(op_.arena);
  for (const admission::AuditAnnotation& annotation : op_.recorder.annotations()) {
    if (annotation.level != admission::AuditLevel::kMetadata) continue;
    annotations.Set(op_.arena.Copy(annotation.key), annotation.value);
  }
  return json::ToString(json::ObjectBuilder(op_.arena)
                            .Set("status", static_cast<std::int64_t>(code))
                            .Set("headers", headers.Build())
                            .Set("body", body)
                            .Set("annotations", annotations.Build())
                            .Build());
}

std::string Answer::Of(const base::Status& status) const {
  const Value object = WithForeignParts(op_, api::StatusToJson(op_.arena, status));
  const base::StatusDetails* details = status.details();
  return Line(status.http_code(), json::ToString(object),
              details != nullptr ? details->retry_after_seconds : 0);
}

std::string Answer::Of(const engine::Outcome& outcome) const {
  if (outcome.stored == nullptr) return Line(outcome.code, json::ToString(outcome.object));
  std::string scratch;
  const auto bytes = engine::BytesAs(op_, outcome.stored, scratch);
  return bytes.ok() ? Line(outcome.code, *bytes) : Of(bytes.status());
}

std::string Answer::Of(const engine::Listing& listing) const {
  json::ArrayBuilder items(op_.arena);
  for (const store::ObjectPtr& object : listing.objects) {
    const auto value = engine::FromStore(op_, object);
    if (!value.ok()) return Of(value.status());
    items.Add(ItemOf(op_, *value));
  }
  json::ObjectBuilder metadata(op_.arena);
  metadata.Set("resourceVersion", listing.meta.resource_version);
  if (!listing.meta.continue_token.empty()) metadata.Set("continue", listing.meta.continue_token);
  if (listing.meta.remaining > 0) {
    metadata.Set("remainingItemCount", static_cast<std::int64_t>(listing.meta.remaining));
  }
  return Line(200, json::ToString(json::ObjectBuilder(op_.arena)
                                      .Set("kind", op_.resource->list_kind)
                                      .Set("apiVersion", engine::ApiVersion(op_.resource->kind))
                                      .Set("metadata", metadata.Build())
                                      .Set("items", items.Build())
                                      .Build()));
}

}  // namespace portcullis::conformance
