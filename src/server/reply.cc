// SPDX-License-Identifier: Apache-2.0

#include "server/reply.h"

#include "api/api_status.h"
#include "engine/codec/cbor.h"
#include "engine/codec/protobuf.h"
#include "json/reader.h"
#include "json/writer.h"
#include "json/yaml.h"
#include "server/admission_traces.h"

namespace portcullis::server {
namespace {

std::string Encode(const Call& call, json::Value value) {
  if (call.accepted.type == MediaType::kYaml) return json::ToYaml(value);
  json::WriteOptions options;
  if (call.accepted.pretty) options.indent = 2;
  std::string text;
  json::Write(value, text, options);
  if (!call.accepted.pretty) text += '\n';  // as Go's json.Encoder, unlike MarshalIndent
  return text;
}

// A webhook that refuses may put more into its Status object than base::Status carries.
json::Value WithForeignParts(Call& call, json::Value status) {
  const auto foreign = call.recorder.foreign_status();
  if (!foreign) return status;
  if (!foreign->status.empty()) {
    status = json::With(call.arena, status, "status", json::String(call.arena, foreign->status));
  }
  auto metadata = json::Parse(call.arena, call.arena.Copy(foreign->metadata_json));
  if (!metadata.ok()) return status;
  return json::With(call.arena, status, "metadata", *metadata);
}

// An error is written as its client accepts it, whatever the endpoint offers; in JSON if it accepts
// nothing that the server writes.
Reply StatusReply(Call& call, int http_status, json::Value status) {
  auto accepted =
      NegotiateOutput(call.headers().Get("Accept"), call.info.query.Get("pretty"),
                      call.headers().Get("User-Agent"), Offers::kObjectOnly, call.takes_cbor);
  if (accepted.ok()) {
    call.accepted = *std::move(accepted);
    return ValueReply(call, http_status, status);
  }
  Reply reply;
  reply.status = http_status;
  json::WriteOptions indented;
  indented.indent = 2;
  reply.body = json::ToString(status, indented);
  return reply;
}

}  // namespace

Reply ErrorReply(Call& call, const base::Status& status) {
  if (call.trace != nullptr) {
    call.trace->reason = api::StatusToJson(call.arena, status)["reason"].AsString();
    call.trace->message = status.message();
  }
  // Go's server panics when told to write such a code, and this is what comes of it.
  if (status.http_code() > 999) {
    return TextReply(500,
                     "This request caused apiserver to panic. Look in the logs for details.\n");
  }
  Reply reply = StatusReply(call, status.http_code(),
                            WithForeignParts(call, api::StatusToJson(call.arena, status)));
  if (status.details() != nullptr && status.details()->retry_after_seconds > 0) {
    reply.headers.Set("Retry-After", std::to_string(status.details()->retry_after_seconds));
  }
  if (status.http_code() == 401 && status.reason() == base::Reason::kUnauthorized) {
    reply.headers.Remove("WWW-Authenticate");
  }
  return reply;
}

Reply TimeoutReply(Call& call, const base::Status& cause) {
  Reply reply = ErrorReply(call, cause);
  reply.value = api::StatusToJson(call.arena, cause);
  reply.content_type = "text/plain; charset=utf-8";
  reply.body =
      R"({"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the )"
      R"(allotted timeout","reason":"Timeout","details":{},"code":504})"
      "\n";
  reply.is_late = true;
  return reply;
}

Reply ValueReply(Call& call, int http_status, json::Value value) {
  Reply reply;
  reply.status = http_status;
  reply.content_type = call.accepted.ContentType();
  if (call.accepted.type != MediaType::kJson) reply.value = value;
  if (call.accepted.type == MediaType::kCbor) {
    engine::WriteCborDocument(*call.catalog, value, reply.body);
    return reply;
  }
  if (call.accepted.type != MediaType::kProtobuf) {
    reply.body = Encode(call, value);
    return reply;
  }
  const base::Status written = engine::WriteProtobuf(value, reply.body);
  return written.ok() ? std::move(reply) : ErrorReply(call, written);
}

Reply JsonTextReply(Call& call, int http_status, std::string text) {
  if (call.accepted.type != MediaType::kJson || call.accepted.pretty) {
    auto value = json::Parse(call.arena, text);
    if (value.ok()) return ValueReply(call, http_status, *value);
  }
  Reply reply;
  reply.status = http_status;
  reply.body = std::move(text);
  reply.body += '\n';
  return reply;
}

base::Result<Reply> SourceReply(Call& call, std::unique_ptr<TextSource> source) {
  Reply reply;
  reply.content_type = call.accepted.ContentType();
  const bool more = TRY(source->Append(reply.body));
  if (more) reply.rest = std::move(source);
  return reply;
}

base::Status CompleteBody(Reply& reply) {
  if (!reply.rest) return base::OkStatus();
  while (TRY(reply.rest->Append(reply.body))) {
  }
  reply.rest.reset();
  return base::OkStatus();
}

Reply TextReply(int http_status, std::string text) {
  Reply reply;
  reply.status = http_status;
  reply.content_type = "text/plain; charset=utf-8";
  reply.headers.Set("X-Content-Type-Options", "nosniff");
  reply.body = std::move(text);
  return reply;
}

void SetFlowHeaders(const Call& call, net::Headers& headers) {
  const flow_control::FlowSchema* schema = call.seat != nullptr ? call.seat->schema() : nullptr;
  if (schema == nullptr) return;
  headers.Set("X-Kubernetes-Pf-Flowschema-Uid", schema->uid);
  headers.Set("X-Kubernetes-Pf-Prioritylevel-Uid", schema->level_uid);
}

}  // namespace portcullis::server
