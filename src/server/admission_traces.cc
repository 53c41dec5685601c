// SPDX-License-Identifier: Apache-2.0

#include "server/admission_traces.h"

#include <utility>

#include "admission/trace/document.h"
#include "admission/trace/table.h"
#include "api/api_status.h"
#include "authz/authorizer.h"
#include "base/log.h"
#include "base/random.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"
#include "server/reply.h"

namespace portcullis::server {
namespace {

constexpr std::string_view kPath = "/debug/admission";
constexpr std::string_view kVersion = admission::kTraceVersion;

Reply PageNotFound() { return TextReply(404, "404 page not found\n"); }

// Lists and watches never reach admission; a get does with a subresource that connects.
bool ReachesAdmission(const RequestInfo& info) {
  if (!info.is_resource || info.verb == "list" || info.verb == "watch") return false;
  return info.verb != "get" || !info.subresource.empty();
}

authz::Attributes ReadOf(const Call& call, std::string_view path) {
  authz::Attributes attributes;
  attributes.user = &call.user;
  attributes.verb = "get";
  attributes.resource_request = false;
  attributes.path = path;
  return attributes;
}

bool MayReadAll(const Call& call) {
  return call.env.authorizer->Authorize(ReadOf(call, kPath)).allowed();
}

// The document as text, within the limit: without values and the object if need be; "" if it is
// too large even so.
std::string DocumentText(Call& call, bool full, json::Value& document) {
  const CallTrace& traced = *call.trace;
  const RequestInfo& info = call.info;
  admission::TraceSubject subject;
  subject.id = traced.id;
  subject.verb = info.verb;
  subject.resource = {info.api_group, info.api_version, info.resource};
  subject.subresource = info.subresource;
  subject.ns = info.name_space;
  subject.name = info.name;
  subject.user = call.user.name;
  subject.dry_run = call.dry_run;
  subject.warnings = call.recorder.warnings();
  admission::TraceDocumentOptions options;
  options.full = full;
  options.hides_config_maps = !traced.is_requested;
  document = admission::TraceDocument(call.arena, traced.trace, subject, options);
  std::string text = json::ToString(document);
  if (text.size() <= AdmissionTraces::kMaxTraceBytes) return text;
  return full ? DocumentText(call, false, document) : std::string();
}

std::string HeadOf(json::Arena& arena, json::Value document) {
  json::ObjectBuilder head(arena, document);
  head.Remove("steps").Remove("fields").Remove("object");
  return json::ToString(head.Build());
}

bool WantsJson(const Call& call) { return call.info.query.Get("format") == "json"; }

Reply JsonReply(std::string text) {
  Reply reply;
  reply.body = std::move(text);
  reply.body += '\n';
  return reply;
}

}  // namespace

base::Status AdmissionTraces::Begin(Call& call) const {
  const std::string_view wanted = call.headers().Get(kTraceHeader);
  const bool is_kept = history_limit_ > 0 && !call.by_server_itself();
  if (wanted.empty() && !is_kept) return base::OkStatus();
  if (!ReachesAdmission(call.info)) return base::OkStatus();
  auto traced = std::make_unique<CallTrace>(*call.env.clock);
  traced->id = base::Uuid();
  if (!wanted.empty()) {
    if (wanted != "full" && wanted != "summary") {
      return base::BadRequest(base::StrCat("invalid value of the header ", kTraceHeader, ": \"",
                                           wanted, "\" (allowed: full, summary)"));
    }
    const std::string path = base::StrCat(kPath, "/", traced->id);
    const authz::Attributes attributes = ReadOf(call, path);
    const authz::Decision decision = call.env.authorizer->Authorize(attributes);
    if (!decision.allowed()) return authz::Denied(attributes, decision.reason);
    traced->is_requested = true;
    traced->is_full = wanted == "full";
  }
  call.trace = std::move(traced);
  call.recorder.set_trace(&call.trace->trace);
  return base::OkStatus();
}

void AdmissionTraces::End(Call& call, Reply& reply) {
  CallTrace& traced = *call.trace;
  if (traced.trace.steps().empty() && !traced.is_requested) return;
  traced.trace.Finish({reply.status, traced.reason, traced.message});
  json::Value document;
  auto kept = std::make_shared<Kept>();
  kept->document = DocumentText(call, traced.is_full, document);
  if (kept->document.empty()) {
    base::LogWarning("a trace is too large to be kept", {{"id", traced.id}});
    return;
  }
  kept->head = HeadOf(call.arena, document);
  kept->id = traced.id;
  kept->user = call.user.name;
  if (traced.is_requested) {
    reply.headers.Set(kTraceHeader, base::StrCat(kPath, "/", traced.id));
  }
  const base::MutexLock lock(mutex_);
  if (traced.is_requested) Add(requested_, kept, kMaxRequested);
  if (history_limit_ > 0 && !call.by_server_itself()) {
    Add(history_, std::move(kept), history_limit_);
  }
}

void AdmissionTraces::Add(Ring& ring, std::shared_ptr<const Kept> kept, std::size_t limit) {
  ring.push_back(std::move(kept));
  std::size_t bytes = 0;
  for (const auto& one : ring) bytes += one->document.size() + one->head.size();
  while (ring.size() > limit || bytes > kMaxBytes) {
    bytes -= ring.front()->document.size() + ring.front()->head.size();
    ring.pop_front();
  }
}

std::shared_ptr<const AdmissionTraces::Kept> AdmissionTraces::Find(std::string_view id) {
  const base::MutexLock lock(mutex_);
  if (id == "latest" && !history_.empty()) return history_.back();
  for (const Ring* ring : {&requested_, &history_}) {
    for (const auto& kept : *ring) {
      if (kept->id == id) return kept;
    }
  }
  return nullptr;
}

Reply AdmissionTraces::ServeList(Call& call) {
  if (history_limit_ == 0) return PageNotFound();
  Ring kept;
  {
    const base::MutexLock lock(mutex_);
    kept = history_;
  }
  if (!WantsJson(call)) {
    json::ArrayBuilder heads(call.arena);
    for (const auto& one : kept) {
      const auto head = json::Parse(call.arena, one->head);
      if (head.ok()) heads.Add(*head);
    }
    return TextReply(200, admission::TraceListTable(heads.Build()));
  }
  std::string text =
      base::StrCat(R"({"kind":"AdmissionTraceList","apiVersion":")", kVersion, R"(","items":[)");
  for (const auto& one : kept) {
    if (text.back() != '[') text += ',';
    text += one->head;
  }
  return JsonReply(text + "]}");
}

Reply AdmissionTraces::ServeOne(Call& call, std::string_view id) {
  const std::shared_ptr<const Kept> kept = Find(id);
  if (kept == nullptr || (kept->user != call.user.name && !MayReadAll(call))) return PageNotFound();
  if (WantsJson(call)) return JsonReply(kept->document);
  const auto document = json::Parse(call.arena, kept->document);
  if (!document.ok()) return ErrorReply(call, document.status());
  return TextReply(200, admission::TraceTable(*document));
}

Reply AdmissionTraces::Serve(Call& call) {
  if (call.info.method != "GET") return ErrorReply(call, api::MethodNotAllowedStatus());
  const std::string_view path = call.info.path;
  if (path == kPath) return ServeList(call);
  return ServeOne(call, path.substr(kPath.size() + 1));
}

}  // namespace portcullis::server
