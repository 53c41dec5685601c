// SPDX-License-Identifier: Apache-2.0

#include "server/filters/finish.h"

#include "api/api_status.h"
#include "audit/sink.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/strings.h"
#include "json/reader.h"
#include "metrics/apiserver_metrics.h"
#include "server/admission_traces.h"
#include "server/filters/answer_headers.h"
#include "server/filters/streamed_answer.h"
#include "server/reply.h"

namespace portcullis::server::filters {
namespace {

std::string MetricVerb(const Call& call) {
  const std::string& verb = call.info.verb;
  if (!call.info.is_resource) return base::ToUpper(verb);
  if (verb == "create") return "POST";
  if (verb == "update") return "PUT";
  if (verb == "patch" &&
      call.headers().Get("Content-Type").substr(0, 23) == "application/apply-patch") {
    return "APPLY";
  }
  return base::ToUpper(verb);
}

std::string_view Scope(const Call& call) {
  if (!call.info.is_resource) return "";
  if (!call.info.name.empty()) return "resource";
  return call.info.name_space.empty() ? "cluster" : "namespace";
}

void Count(const Call& call, const Reply& reply, std::size_t size) {
  // Unknown resources would let clients make up label values.
  if (call.info.is_resource && call.resource == nullptr) return;
  const RequestInfo& info = call.info;
  const std::string verb = MetricVerb(call);
  // Of a connection that is a WebSocket kube-apiserver knows no status.
  const std::string code = std::to_string(reply.status == 101 ? 0 : reply.status);
  const std::string_view dry_run = call.dry_run ? "All" : "";
  const std::string_view subresource =
      info.is_resource ? std::string_view(info.subresource) : std::string_view(info.path);
  const metrics::RequestMetrics& metrics = *call.env.request_metrics;
  if (reply.streaming) {
    metrics.requests
        .With({verb, dry_run, info.api_group, info.api_version, info.resource, subresource,
               Scope(call), "apiserver", code})
        .Increment();
    return;
  }
  const metrics::RequestSeries series =
      metrics.series->Of({verb, dry_run, info.api_group, info.api_version, info.resource,
                          subresource, Scope(call), code});
  const std::chrono::duration<double> took = call.env.clock->Steady() - call.started;
  const std::chrono::duration<double> waited =
      (call.seat != nullptr ? call.seat->waited() : base::Duration::zero()) +
      call.recorder.mutating_webhook_time() + call.recorder.validating_webhook_time();
  series.requests->Increment();
  series.duration->Observe(took.count());
  series.slo_duration->Observe((took - waited).count());
  if (series.response_sizes != nullptr) series.response_sizes->Observe(static_cast<double>(size));
  if (series.body_sizes != nullptr && !call.body.empty()) {
    series.body_sizes->Observe(static_cast<double>(call.body.size()));
  }
}

// Requests that were ended in self-defence.
void CountTermination(const Call& call, const Reply& reply) {
  if (call.info.is_resource && call.resource == nullptr) return;
  const RequestInfo& info = call.info;
  const std::string_view subresource =
      info.is_resource ? std::string_view(info.subresource) : std::string_view(info.path);
  call.env.request_metrics->terminations
      .With({MetricVerb(call), info.api_group, info.api_version, info.resource, subresource,
             Scope(call), "apiserver", std::to_string(reply.status)})
      .Increment();
}

// Slow requests say where the time went.
void AnnotateLatency(const Call& call, audit::Event& event) {
  constexpr std::string_view kPrefix = "apiserver.latency.k8s.io/";
  const base::Duration total = call.env.clock->Steady() - call.started;
  if (total <= std::chrono::milliseconds(500)) return;
  const auto annotate = [&](std::string_view what, base::Duration took) {
    if (took <= base::Duration::zero()) return;
    event.Annotate(base::StrCat(kPrefix, what), base::FormatDuration(took));
  };
  if (call.seat != nullptr) annotate("apf-queue-wait", call.seat->waited());
  annotate("mutating-webhook", call.recorder.mutating_webhook_time());
  annotate("validating-webhook", call.recorder.validating_webhook_time());
  annotate("total", total);
}

bool IsStatus(const Reply& reply, std::string_view content) {
  if (reply.value.is_object()) return reply.value["kind"].AsString() == "Status";
  return content.starts_with(R"({"kind":"Status","apiVersion":"v1",)");
}

void EndAudit(Call& call, const Reply& reply, std::string_view content) {
  if (!call.audit) return;
  audit::Event& event = *call.audit;
  for (const admission::AuditAnnotation& annotation : call.recorder.annotations()) {
    if (static_cast<int>(annotation.level) <= static_cast<int>(event.depth().level)) {
      event.Annotate(annotation.key, annotation.value);
    }
  }
  AnnotateLatency(call, event);
  event.SetRequestObject(call.request_object);
  event.SetResponseCode(reply.status);
  // A Status is part of the event at every level, that of a deletion, too.
  if (reply.status >= 400 || event.wants_response_object() || IsStatus(reply, content)) {
    if (!reply.value.is_null()) {
      event.SetResponseObject(reply.value);
    } else if (auto body = json::Parse(call.arena, content); body.ok()) {
      event.SetResponseObject(*body);
    }
  }
  // Of a client that is not known only the refusal is told.
  const auto stage = reply.streaming || event.user.name.empty() ? audit::Stage::kResponseStarted
                                                                : audit::Stage::kResponseComplete;
  if (const auto line = event.Encode(stage, call.env.clock->Now())) {
    call.env.request_metrics->audit_events.With({}).Increment();
    const base::Status written = call.env.audit_sink->Write(*line);
    if (!written.ok()) base::LogError("audit event lost", {{"error", written.message()}});
  }
}

net::Headers HeadersOf(const Call& call, Reply& reply) {
  net::Headers headers = std::move(reply.headers);
  headers.Reserve(headers.size() + 8);
  headers.Set("Audit-Id", call.audit_id);
  if (!headers.Has("Cache-Control")) headers.Set("Cache-Control", "no-cache, private");
  if (!reply.content_type.empty()) headers.Set("Content-Type", reply.content_type);
  if (call.env.answer_headers != nullptr) {
    call.env.answer_headers->AddTo(headers, call, reply.is_late);
  }
  if (reply.is_late) return headers;
  SetFlowHeaders(call, headers);
  for (const std::string& warning : call.recorder.warnings()) {
    headers.Add("Warning", admission::WarningHeader(warning));
  }
  return headers;
}

void Send(Call& call, Reply& reply) {
  const std::string_view content = reply.shared_body ? *reply.shared_body : reply.body;
  net::Response response;
  response.status = reply.status;
  response.headers = HeadersOf(call, reply);
  std::string compressed;
  if (content.size() > kCompressFrom && call.headers().HasToken("Accept-Encoding", "gzip")) {
    compressed = Compress(content);
  }
  if (!compressed.empty()) {
    response.headers.Set("Content-Encoding", "gzip");
    response.headers.Add("Vary", "Accept-Encoding");
    response.body = std::move(compressed);
  } else if (reply.shared_body) {
    response.shared_body = std::move(reply.shared_body);
  } else {
    response.body = std::move(reply.body);
  }
  call.exchange->Respond(std::move(response));
}

}  // namespace

metrics::Gauge& LongRunning(const Call& call) {
  const RequestInfo& info = call.info;
  return call.env.request_metrics->longrunning.With({MetricVerb(call), info.api_group,
                                                     info.api_version, info.resource,
                                                     info.subresource, Scope(call), "apiserver"});
}

void Refuse(Call& call) {
  const RequestInfo& info = call.info;
  if (info.is_resource) {
    call.resource = call.catalog->Find(info.api_group, info.api_version, info.resource);
  }
  Reply reply = TextReply(429, "Too many requests, please try again later.\n");
  reply.headers.Set("Retry-After", std::to_string(call.env.seats->NoteRefused(call)));
  CountTermination(call, reply);
  Finish(call, std::move(reply));
}

void Finish(Call& call, Reply reply) {
  if (call.trace != nullptr) call.env.traces->End(call, reply);
  if (reply.is_late) CountTermination(call, reply);
  const bool is_whole = call.by_server_itself() ||
                        (call.audit && call.audit->wants_response_object() && !reply.is_file);
  if (reply.rest && is_whole) {
    if (const base::Status made = CompleteBody(reply); !made.ok()) reply = ErrorReply(call, made);
  }
  if (reply.rest) {
    const std::size_t size = SendStreamed(call, {reply.status, HeadersOf(call, reply)}, reply);
    EndAudit(call, reply, {});
    return Count(call, reply, size);
  }
  const std::string_view content = reply.shared_body ? *reply.shared_body : reply.body;
  EndAudit(call, reply, content);
  Count(call, reply, content.size());
  if (!reply.streaming && call.exchange != nullptr) Send(call, reply);
}

}  // namespace portcullis::server::filters
