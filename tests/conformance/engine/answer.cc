// SPDX-License-Identifier: Apache-2.0

#include "answer.h"

#include <cstdint>

#include "base/strings.h"
#include "engine/codec/codec.h"
#include "json/writer.h"
#include "offline/http_request.h"

namespace portcullis::conformance {

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
  json::ObjectBuilder of_request(op_.arena);
  for (const admission::AuditAnnotation& annotation : op_.recorder.annotations()) {
    if (annotation.level == admission::AuditLevel::kRequestResponse) continue;
    const bool is_metadata = annotation.level == admission::AuditLevel::kMetadata;
    (is_metadata ? annotations : of_request).Set(op_.arena.Copy(annotation.key), annotation.value);
  }
  return json::ToString(json::ObjectBuilder(op_.arena)
                            .Set("status", static_cast<std::int64_t>(code))
                            .Set("headers", headers.Build())
                            .Set("body", body)
                            .Set("annotations", annotations.Build())
                            .Set("requestAnnotations", of_request.Build())
                            .Build());
}

std::string Answer::Of(const base::Status& status) const {
  const json::Value object = offline::StatusValue(op_, status);
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
  const auto list = offline::ListValue(op_, listing);
  return list.ok() ? Line(200, json::ToString(*list)) : Of(list.status());
}

}  // namespace portcullis::conformance
