// SPDX-License-Identifier: Apache-2.0

// WATCH: checks what is asked for, sends the present state if it is wanted, and hands the rest to
// the hub (Kubernetes docs: API Concepts, "Efficient detection of changes", "Streaming lists").

#include <functional>

#include "admission/recorder.h"
#include "api/api_status.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "engine/codec/codec.h"
#include "engine/read/listing.h"
#include "engine/read/selection.h"
#include "server/filters/answer_headers.h"
#include "server/filters/finish.h"
#include "server/options.h"
#include "server/reply.h"
#include "server/rest/verbs.h"
#include "server/rest_options.h"
#include "server/watch_hub.h"
#include "store/store.h"

namespace portcullis::server::rest {
namespace {

// Between one and two times --min-request-timeout, different for each watch so that they do not all
// end together.
std::chrono::seconds DefaultTimeout(const Call& call) {
  const std::size_t spread = std::hash<std::string>()(call.exchange->remote_address()) ^
                             std::hash<const void*>()(call.exchange.get());
  const auto least = static_cast<std::size_t>(std::max(1, call.env.options->min_request_timeout));
  return std::chrono::seconds(static_cast<std::int64_t>(least + spread % least));
}

// Sends what comes before the first event; false: a handshake is refused, and nothing follows.
bool Start(const Call& call, WatchSession& session, Reply& reply) {
  const net::Headers& headers = call.headers();
  if (net::AsksForWebSocket(headers)) {
    reply.status = 101;
    session.web_socket = true;
    const auto answer = net::AnswerHandshake(
        call.request(), call.exchange->secure(),
        call.notes.protocols ? *call.notes.protocols : headers.Get("Sec-WebSocket-Protocol"));
    call.exchange->StartWebSocket(answer);
    return answer.accepted;
  }
  net::ResponseHead head;
  head.headers.Set("Content-Type", call.accepted.StreamContentType());
  head.headers.Set("Cache-Control", "no-cache, private");
  head.headers.Set("Audit-Id", call.audit_id);
  if (call.env.answer_headers != nullptr) {
    call.env.answer_headers->AddTo(head.headers, call, /*is_late=*/false);
  }
  SetFlowHeaders(call, head.headers);
  for (const std::string& warning : call.recorder.warnings()) {
    head.headers.Add("Warning", admission::WarningHeader(warning));
  }
  call.exchange->Start(std::move(head));
  return true;
}

// What the request asks for: all but where it begins if it names no version.
base::Result<std::unique_ptr<WatchSession>> ReadSession(Call& call,
                                                        const engine::ListOptions& options) {
  auto session = std::make_unique<WatchSession>();
  session->selection = TRY(ReadSelection(call, options));
  if (!call.resource->HasVerb("watch")) {
    return api::MethodNotSupportedStatus(call.group_resource(), "watch");
  }
  const std::string& version = options.resource_version;
  session->after = version.empty() ? 0 : TRY(ReadRevision(version));
  if (call.accepted.StreamContentType().empty()) return NotAcceptable(StreamTypes(call.takes_cbor));
  session->exchange = call.exchange;
  session->catalog = call.catalog;
  session->resource = call.resource;
  session->accepted = call.accepted;
  if (call.accepted.form == Form::kTable) {
    session->rows.emplace(*call.resource,
                          TRY(table::ReadIncludeObject(call.info.query.Get("includeObject"))),
                          call.accepted.form_version);
  }
  session->bookmarks = options.allow_bookmarks;
  const auto timeout = options.timeout_seconds && *options.timeout_seconds != 0
                           ? std::chrono::seconds(*options.timeout_seconds)
                           : DefaultTimeout(call);
  session->ends = call.env.clock->Steady() + timeout;
  return session;
}

}  // namespace

VerbResult Watch(Call& call) {
  const engine::ListOptions options = TRY(ReadListOptions(call, true));
  auto session = TRY(ReadSession(call, options));
  std::int64_t after = session->after;
  const bool initial = options.send_initial_events.value_or(after == 0);
  // A watch that has begun tells what is wrong as an event.
  base::Status failure;
  if (initial && after > call.env.store->revision()) {
    failure = engine::TooLargeVersion(after, call.env.store->revision(),
                                      engine::IsCached(*call.resource) ? 1 : 2);
  } else if (initial) {
    store::ListRequest request;
    request.collection = {call.resource->storage_kind.group, call.resource->resource.resource};
    request.ns = session->selection.ns;
    store::Page page = TRY(call.env.store->ListPage(request));
    page.objects = TRY(InVersion(call, std::move(page.objects)));
    TRY(Filter(call, session->selection, page.objects));
    session->initial = std::move(page.objects);
    session->ends_initial = session->bookmarks;
    if (options.send_initial_events.value_or(false)) {
      session->on_initial_end = [&duration = filters::WatchListDuration(call),
                                 started = call.started, clock = call.env.clock] {
        duration.Observe(std::chrono::duration<double>(clock->Steady() - started).count());
      };
    }
    after = page.revision;
  } else if (after == 0) {
    after = call.env.store->revision();
  }
  session->after = after;

  Reply reply;
  reply.streaming = true;
  const bool goes_on = Start(call, *session, reply);
  // Of a connection that is a WebSocket kube-apiserver knows no status.
  const auto series = filters::SeriesOf(call, session->web_socket ? 0 : 200);
  filters::NoteStart(call, reply.status);
  auto end = filters::TakeEnd(call);
  if (goes_on && !failure.ok()) {
    call.exchange->Write(ErrorLine(*session, failure));
    call.exchange->Finish();
  }
  if (!goes_on || !failure.ok()) {
    filters::CountIn(series, call.env.clock->Steady() - call.started, {}, 0);
    end();
    return reply;
  }
  metrics::Gauge& running = filters::LongRunning(call);
  running.Add(1);
  std::function<void()> forget;
  if (flow_control::FlowControl* flow_control = call.env.seats->flow_control()) {
    forget = flow_control->watches().Register(FactsOf(call), call.info.query.Get("fieldSelector"));
  }
  session->on_end = [&running, forget = std::move(forget), end = std::move(end), series,
                     started = call.started, clock = call.env.clock, &sent = session->sent,
                     waited = call.seat != nullptr ? call.seat->waited() : base::Duration{}] {
    running.Add(-1);
    filters::CountIn(series, clock->Steady() - started, waited, sent);
    if (forget) forget();
    end();
  };
  call.env.watches->Add(std::move(session));
  return reply;
}

}  // namespace portcullis::server::rest
