// SPDX-License-Identifier: Apache-2.0

#include "server/filters/finish.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "api/api_status.h"
#include "audit/sink.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "json/reader.h"
#include "metrics/access_metrics.h"
#include "metrics/apiserver_metrics.h"
#include "metrics/watch_metrics.h"
#include "server/admission_traces.h"
#include "server/filters/answer_headers.h"
#include "server/filters/streamed_answer.h"
#include "server/reply.h"

namespace portcullis::server::filters {
namespace {

// By the verb of the request, and by the method of what is no resource.
constexpr std::pair<std::string_view, std::string_view> kVerbs[] = {
    {"get", "GET"},    {"list", "LIST"},   {"watch", "WATCH"},   {"create", "POST"},
    {"update", "PUT"}, {"patch", "PATCH"}, {"delete", "DELETE"}, {"deletecollection", "DELETE"},
    {"head", "GET"},   {"put", "PUT"},     {"post", "POST"},     {"connect", "CONNECT"}};
constexpr std::string_view kConnects[] = {"log", "exec", "portforward", "attach", "proxy"};

std::string_view MetricVerb(const Call& call) {
  const RequestInfo& info = call.info;
  if (info.is_resource && !info.subresource.empty() &&
      std::find(std::begin(kConnects), std::end(kConnects), info.subresource) !=
          std::end(kConnects)) {
    return "CONNECT";
  }
  if (info.verb == "patch" &&
      call.headers().Get("Content-Type") == "application/apply-patch+yaml") {
    return "APPLY";
  }
  if (info.method == "GET" && info.query.GetBool("watch")) return "WATCH";
  for (const auto& [verb, name] : kVerbs) {
    if (verb == info.verb) return name;
  }
  return "other";
}

std::string_view Scope(const Call& call) {
  const RequestInfo& info = call.info;
  if (!info.is_resource) return "";
  if (!info.name.empty() || info.verb == "create") return "resource";
  return info.name_space.empty() ? "cluster" : "namespace";
}

std::string_view DryRun(const Call& call) {
  if (!call.info.query.Has("dryRun")) return "";
  return call.info.query.Get("dryRun") == "All" ? "All" : "invalid";
}

// What is no resource and is measured, as kube-apiserver names it.
struct Page {
  std::string_view path, resource, subresource, component;
};
constexpr Page kPages[] = {
    {"/healthz", "", "/healthz", ""},        {"/livez", "", "/livez", ""},
    {"/readyz", "", "/readyz", ""},          {"/openapi/v3", "", "openapi/v3", ""},
    {"/openapi/v3/", "", "openapi/v3/", ""}, {"/api", "", "api", "apiserver"},
    {"/apis", "", "apis", "apiserver"},      {"/statusz", "statusz", "", "apiserver"},
    {"/flagz", "flagz", "", "apiserver"}};

const Page* PageOf(const Call& call) {
  std::string_view path = call.info.path;
  if (path.starts_with("/openapi/v3/")) path = "/openapi/v3/";
  for (const Page& page : kPages) {
    if (page.path != path) continue;
    // Of discovery the one document.
    const bool is_discovery = path.starts_with("/api");
    const bool is_whole =
        call.headers().Get("Accept").find("as=APIGroupDiscoveryList") != std::string_view::npos;
    return !is_discovery || is_whole ? &page : nullptr;
  }
  return nullptr;
}

bool IsMeasured(const Call& call) {
  return call.info.is_resource ? call.is_routed : PageOf(call) != nullptr;
}

void Count(const Call& call, const Reply& reply, std::size_t size) {
  if (!IsMeasured(call) || reply.streaming) return;
  const metrics::RequestSeries series = SeriesOf(call, reply.status);
  const std::chrono::duration<double> waited =
      (call.seat != nullptr ? call.seat->waited() : base::Duration::zero()) +
      call.recorder.mutating_webhook_time() + call.recorder.validating_webhook_time();
  CountIn(series, call.env.clock->Steady() - call.started, waited, size);
  if (series.lists != nullptr) {
    series.lists->Increment();
    series.fetched->Increment(call.fetched);
    series.returned->Increment(call.returned);
  }
  if (series.body_sizes != nullptr && !call.body.empty()) {
    series.body_sizes->Observe(static_cast<double>(call.body.size()));
  }
  const std::string_view agent = call.headers().Get("User-Agent");
  if (agent.substr(0, agent.find('/')) == "kube-apiserver") {
    const RequestInfo& info = call.info;
    call.env.access_metrics->self_requests
        .With({MetricVerb(call), info.api_group, info.resource, info.subresource})
        .Increment();
  }
}

// Whether the request is for a resource and a subresource that are served. Of others clients can make up any
// number of names, also without credentials; none of them becomes the value of a label.
bool IsServed(const Call& call) {
  const std::string_view subresource = call.info.subresource;
  return call.resource != nullptr &&
         (subresource.empty() || call.resource->FindSubresource(subresource) != nullptr);
}

// For the same reason the path of a page, "" if it is none of ours.
std::string_view PathLabel(std::string_view path) {
  constexpr std::string_view kOthers[] = {"/metrics", "/openapi/v2", "/version"};
  const auto is_path = [path](const Page& page) { return page.path == path; };
  const bool is_known =
      std::any_of(std::begin(kPages), std::end(kPages), is_path) ||
      std::find(std::begin(kOthers), std::end(kOthers), path) != std::end(kOthers);
  return is_known ? path : "";
}

// Requests that were ended in self-defence.
void CountTermination(const Call& call, int status, std::string_view subresource,
                      std::string_view component) {
  const RequestInfo& info = call.info;
  call.env.request_metrics->terminations
      .With({MetricVerb(call), info.api_group, info.api_version, info.resource, subresource,
             Scope(call), component, std::to_string(status)})
      .Increment();
}

void CountTermination(const Call& call, const Reply& reply) {
  const RequestInfo& info = call.info;
  if (info.is_resource && !IsServed(call)) return;
  CountTermination(call, reply.status, info.is_resource ? info.subresource : PathLabel(info.path),
                   "apiserver");
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

void AddAnnotations(Call& call) {
  audit::Event& event = *call.audit;
  for (const admission::AuditAnnotation& annotation : call.recorder.annotations()) {
    if (static_cast<int>(annotation.level) <= static_cast<int>(event.depth().level)) {
      event.Annotate(annotation.key, annotation.value);
    }
  }
}

void WriteEvent(const Environment& env, const audit::Event& event, audit::Stage stage) {
  if (const auto line = event.Encode(stage, env.clock->Now())) {
    env.request_metrics->audit_events.With({}).Increment();
    const base::Status written = env.audit_sink->Write(*line);
    if (!written.ok()) base::LogError("audit event lost", {{"error", written.message()}});
  }
}

// What the client has sent, its members in Go's order.
json::Value RequestObject(Call& call) {
  const json::Value object = call.request_object;
  const bool is_recorded = call.audit->wants_request_object() && call.resource != nullptr &&
                           !call.resource->custom && object["kind"].AsString() == call.kind().kind;
  return is_recorded ? engine::AsStored(*call.catalog, call.arena, call.kind(), object) : object;
}

// `begins`: nothing has recorded yet that the answer starts.
void EndAudit(Call& call, const Reply& reply, std::string_view content, bool begins = true) {
  if (!call.audit || reply.streaming) return;  // a watch records its own
  audit::Event& event = *call.audit;
  AddAnnotations(call);
  AnnotateLatency(call, event);
  event.SetRequestObject(RequestObject(call));
  event.SetResponseCode(reply.status);
  // A Status is part of the event at every level, that of a deletion, too. The one that says that no
  // form of an object is accepted is sent as it is, and none of it recorded.
  const bool is_recorded =
      reply.status >= 400 || event.wants_response_object() || IsStatus(reply, content);
  if (is_recorded && reply.status != 406) {
    if (!reply.value.is_null()) {
      event.SetResponseObject(reply.value);
    } else if (auto body = json::Parse(call.arena, content); body.ok()) {
      event.SetResponseObject(*body);
    }
  }
  // Of a client that is not known only the refusal is told.
  const bool is_unknown = event.user.name.empty();
  if (is_unknown || (begins && IsLongRunning(call.info))) {
    WriteEvent(call.env, event, audit::Stage::kResponseStarted);
  }
  if (!is_unknown) WriteEvent(call.env, event, audit::Stage::kResponseComplete);
}

void Send(Call& call, Reply& reply) {
  const std::string_view content = reply.shared_body ? *reply.shared_body : reply.body;
  net::Response response;
  response.status = reply.status;
  response.headers = HeadersOf(call, reply);
  std::string compressed;
  // What has ranges of bytes is sent as it is.
  if (content.size() > kCompressFrom && !response.headers.Has("Accept-Ranges") &&
      call.headers().HasToken("Accept-Encoding", "gzip")) {
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

net::Headers HeadersOf(const Call& call, Reply& reply) {
  net::Headers headers = std::move(reply.headers);
  headers.Reserve(headers.size() + 8);
  headers.Set("Audit-Id", call.audit_id);
  if (!reply.content_type.empty()) headers.Set("Content-Type", reply.content_type);
  // A path that cannot be read ends before the filters that set the others.
  if (!call.info.error.empty()) return headers;
  if (!headers.Has("Cache-Control")) headers.Set("Cache-Control", "no-cache, private");
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

void NoteOutcome(Call& call, int status) {
  Reply reply;
  reply.status = status;
  if (call.trace != nullptr) call.env.traces->End(call, reply);
  EndAudit(call, reply, {}, /*begins=*/false);
}

void NoteStart(Call& call, int status) {
  if (!call.audit || !IsLongRunning(call.info)) return;
  AddAnnotations(call);
  call.audit->SetResponseCode(status);
  WriteEvent(call.env, *call.audit, audit::Stage::kResponseStarted);
}

std::function<void()> TakeEnd(Call& call) {
  if (!call.audit) return [] {};
  auto event = std::make_shared<const audit::Event>(*std::move(call.audit));
  call.audit.reset();
  return [event = std::move(event), &env = call.env] {
    WriteEvent(env, *event, audit::Stage::kResponseComplete);
  };
}

// Its names are those of the group and version of an APIService, for users who are authorized for them.
void CountUnreached(const Call& call, int status) {
  const RequestInfo& info = call.info;
  CountTermination(call, status, info.is_resource ? info.subresource : info.path, "aggregator");
}

metrics::RequestSeries SeriesOf(const Call& call, int status) {
  const RequestInfo& info = call.info;
  const std::string code = std::to_string(status);
  metrics::RequestSeriesIndex& series = *call.env.request_metrics->series;
  if (info.is_resource) {
    return series.Of({MetricVerb(call), DryRun(call), info.api_group, info.api_version,
                      info.resource, info.subresource, Scope(call), "apiserver", code});
  }
  const Page* page = PageOf(call);
  return series.Of({MetricVerb(call), DryRun(call), "", "", page->resource, page->subresource, "",
                    page->component, code});
}

void CountIn(const metrics::RequestSeries& series, std::chrono::duration<double> took,
             std::chrono::duration<double> waited, std::size_t size) {
  series.requests->Increment();
  series.duration->Observe(took.count());
  if (series.slo_duration != nullptr) series.slo_duration->Observe((took - waited).count());
  if (series.response_sizes != nullptr) series.response_sizes->Observe(static_cast<double>(size));
}

metrics::Gauge& LongRunning(const Call& call) {
  const RequestInfo& info = call.info;
  return call.env.request_metrics->longrunning.With({MetricVerb(call), info.api_group,
                                                     info.api_version, info.resource,
                                                     info.subresource, Scope(call), "apiserver"});
}

metrics::Histogram& WatchListDuration(const Call& call) {
  const RequestInfo& info = call.info;
  return call.env.watch_metrics->list_duration.With(
      {info.api_group, info.api_version, info.resource, Scope(call)});
}

void Refuse(Call& call) {
  const RequestInfo& info = call.info;
  if (info.is_resource) {
    call.resource = call.catalog->Find(info.api_group, info.api_version, info.resource);
  }
  Reply reply = TextReply(429, "Too many requests, please try again later.\n");
  reply.headers.Set("Retry-After", std::to_string(call.env.seats->NoteRefused(call)));
  CountTermination(call, reply);
  // Of what reaches no handler nothing is timed.
  if (IsServed(call)) {
    call.env.request_metrics->requests
        .With({MetricVerb(call), DryRun(call), info.api_group, info.api_version, info.resource,
               info.subresource, Scope(call), "apiserver", "429"})
        .Increment();
  }
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
