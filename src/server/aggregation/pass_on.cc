// SPDX-License-Identifier: Apache-2.0

#include "server/aggregation/pass_on.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "api/api_status.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "golang/netip.h"
#include "golang/url.h"
#include "server/allocation_failure.h"
#include "server/filters/finish.h"
#include "server/options.h"
#include "server/reply.h"
#include "server/seats.h"

namespace portcullis::server {
namespace {

using namespace std::chrono_literals;

// An answer of known length is held so far, and sent with its length.
constexpr std::int64_t kMaxHeld = 1 << 20;
// What a client has not taken of an answer. One that takes it more slowly than it comes is cut off.
constexpr std::size_t kMaxUnsent = 64 << 20;
constexpr auto kDiscoveryTime = 5s;
constexpr auto kUnlimited = std::chrono::hours(24 * 30);  // of a watch

// Of one connection, not of the message (RFC 9110 §7.6.1), as httputil.ReverseProxy has them.
constexpr std::string_view kHopByHop[] = {"connection",
                                          "proxy-connection",
                                          "keep-alive",
                                          "proxy-authenticate",
                                          "proxy-authorization",
                                          "te",
                                          "trailer",
                                          "transfer-encoding",
                                          "upgrade"};
constexpr std::string_view kOwnRequestFields[] = {"authorization",     "host",
                                                  "content-length",    "x-forwarded-for",
                                                  "x-forwarded-uri",   "x-forwarded-host",
                                                  "x-forwarded-proto", "x-remote-user",
                                                  "x-remote-uid",      "x-remote-group",
                                                  "audit-id"};
constexpr std::string_view kOwnAnswerFields[] = {
    "date", "access-control-allow-credentials", "access-control-allow-headers",
    "access-control-allow-methods", "access-control-allow-origin"};

template <std::size_t N>
bool IsOneOf(std::string_view name, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

template <std::size_t N>
bool StaysHere(const net::Headers& all, std::string_view name, const std::string_view (&own)[N]) {
  return IsOneOf(name, kHopByHop) || IsOneOf(name, own) || all.HasToken("Connection", name);
}

// A key of `extra` as part of a header's name.
std::string EscapeKey(std::string_view key) {
  constexpr std::string_view kLegal = "!#$&'*+-.^_`|~";
  std::string out;
  for (const char c : key) {
    const bool legal = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       kLegal.find(c) != std::string_view::npos;
    if (legal) {
      out += c;
    } else {
      out += base::StrCat("%", base::ToUpper(base::HexEncode(std::string_view(&c, 1))));
    }
  }
  return out;
}

// url.Values.Encode: by keys.
std::string EncodeQuery(std::string_view query) {
  auto pairs = golang::ParseQuery(query);
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string out;
  for (const auto& [key, value] : pairs) {
    out += base::StrCat(out.empty() ? "" : "&", golang::QueryEscape(key), "=",
                        golang::QueryEscape(value));
  }
  return out;
}

void AddUser(const api::UserInfo& user, net::Headers& out) {
  out.Add("X-Remote-User", user.name);
  if (!user.uid.empty()) out.Add("X-Remote-Uid", user.uid);
  for (const std::string& group : user.groups) out.Add("X-Remote-Group", group);
  for (const auto& [key, values] : user.extra) {
    const std::string name =
        net::CanonicalHeaderName(base::StrCat("X-Remote-Extra-", EscapeKey(key)));
    for (const std::string& value : values) out.Add(name, value);
  }
}

net::Headers RequestFields(const Call& call, const std::string& host, const std::string& path) {
  const net::Headers& all = call.headers();
  net::Headers out;
  for (const net::Header& field : all) {
    const std::string name = base::ToLower(field.name);
    if (StaysHere(all, name, kOwnRequestFields) || name.starts_with("impersonate-") ||
        name.starts_with("x-remote-extra-")) {
      continue;
    }
    out.Add(net::CanonicalHeaderName(field.name), field.value);
  }
  if (all.HasToken("Te", "trailers")) out.Add("Te", "trailers");
  auto forwarded = all.All("X-Forwarded-For");
  const auto peer = golang::SplitHostPort(call.exchange->remote_address());
  if (peer.ok()) forwarded.push_back(peer->first);
  out.Add("X-Forwarded-For", base::Join(forwarded, ", "));
  out.Add("X-Forwarded-Uri", path);
  out.Add("X-Forwarded-Host", host);
  out.Add("X-Forwarded-Proto", "https");
  out.Add("Audit-Id", call.audit_id);
  AddUser(call.user, out);
  return out;
}

Reply Refusal(int status, std::string_view text) {
  return TextReply(status, base::StrCat(text, "\n"));
}

bool IsDiscovery(const RequestInfo& info) {
  return !info.is_resource &&
         std::count(info.path.begin(), info.path.end(), '/') == (info.path.ends_with('/') ? 4 : 3);
}

// One call on its way to the server and back.
class Passage {
 public:
  Passage(Aggregation& aggregation, std::shared_ptr<Call> call, std::string host)
      : passing_(aggregation), call_(std::move(call)), host_(std::move(host)) {}

  void SetPending(std::shared_ptr<net::PendingCall> pending) {
    bool cancelled = false;
    {
      const base::MutexLock lock(mutex_);
      if (is_done_) return;
      pending_ = pending;
      cancelled = cancelled_;
    }
    if (cancelled) pending->Cancel();
  }

  void Cancel() {
    std::shared_ptr<net::PendingCall> pending;
    {
      const base::MutexLock lock(mutex_);
      cancelled_ = true;
      pending = pending_;
    }
    if (pending) pending->Cancel();
  }

  // On an I/O thread, as all that follows.
  void OnData(const net::ResponseHead& head, std::string_view piece) {
    if (stage_ == Stage::kWaiting) Begin(head);
    if (stage_ == Stage::kHolding) {
      held_.append(piece);
    } else if (stage_ == Stage::kStreaming && !piece.empty()) {
      call_->exchange->Write(std::string(piece));
      if (call_->exchange->buffered_bytes() > kMaxUnsent) Cancel();
    }
  }

  void OnDone(const net::CallResult& result) {
    if (!result.failure) OnData({result.response.status, result.response.headers}, {});
    const std::shared_ptr<Call> call = std::move(call_);
    if (result.failure) {
      Fail(*call, *result.failure);
    } else if (stage_ == Stage::kStreaming) {
      call->exchange->Finish();
      filters::NoteOutcome(*call, head_.status);
    } else if (stage_ == Stage::kHolding) {
      call->exchange->Respond({head_.status, std::move(head_.headers), std::move(held_), nullptr});
      filters::NoteOutcome(*call, head_.status);
    }
    const base::MutexLock lock(mutex_);
    is_done_ = true;
    pending_.reset();
  }

 private:
  enum class Stage { kWaiting, kHolding, kStreaming, kAnswered };

  void Begin(const net::ResponseHead& head) {
    Call& call = *call_;
    const std::string_view location = head.headers.Get("Location");
    if (head.status >= 300 && head.status < 400 && !location.empty() &&
        call.env.options->aggregator_reject_forwarding_redirect) {
      stage_ = Stage::kAnswered;
      Reply reply =
          TextReply(502, "the backend attempted to redirect this request, which is not permitted");
      reply.headers.Remove("X-Content-Type-Options");
      filters::Finish(call, std::move(reply));
      return Cancel();
    }
    head_.status = head.status;
    Reply plain{.content_type = {}};
    head_.headers = filters::HeadersOf(call, plain);
    for (const net::Header& field : head.headers) {
      const std::string name = base::ToLower(field.name);
      if (StaysHere(head.headers, name, kOwnAnswerFields)) continue;
      if (name == "location" && field.value.starts_with('/') && !field.value.starts_with("//")) {
        head_.headers.Add("Location", base::StrCat("https://", host_, field.value));
        continue;
      }
      head_.headers.Add(net::CanonicalHeaderName(field.name), field.value);
    }
    const auto length = base::ParseInt(head.headers.Get("Content-Length"));
    const bool is_empty = call.info.method == "HEAD" || head.status == 204 || head.status == 304;
    if (is_empty || (length && *length >= 0 && *length <= kMaxHeld)) {
      stage_ = Stage::kHolding;
      return;
    }
    stage_ = Stage::kStreaming;
    head_.headers.Remove("Content-Length");
    call.exchange->Start(head_);
  }

  void Fail(Call& call, const net::CallFailure& failure) {
    switch (stage_) {
      case Stage::kWaiting:
        if (failure.timed_out && !IsLongRunning(call.info) && !IsDiscovery(call.info)) {
          return filters::Finish(
              call,
              TimeoutReply(call, api::TimeoutStatus(
                                     "request did not complete within the allotted timeout", 0)));
        }
        return filters::Finish(
            call, Refusal(503, base::StrCat("error trying to reach service: ", failure.cause)));
      case Stage::kStreaming:
        call.exchange->Abort();
        [[fallthrough]];
      case Stage::kHolding:  // the connection ends without an answer
        return filters::NoteOutcome(call, head_.status);
      case Stage::kAnswered:
        return;
    }
  }

  const Aggregation::Passing passing_;
  std::shared_ptr<Call> call_;
  const std::string host_;
  Stage stage_ = Stage::kWaiting;
  net::ResponseHead head_;
  std::string held_;
  base::Mutex mutex_;
  std::shared_ptr<net::PendingCall> pending_ PC_GUARDED_BY(mutex_);
  bool cancelled_ PC_GUARDED_BY(mutex_) = false;
  bool is_done_ PC_GUARDED_BY(mutex_) = false;
};

base::SteadyTime DeadlineOf(const Call& call) {
  const base::SteadyTime now = call.env.clock->Steady();
  if (IsLongRunning(call.info)) return now + kUnlimited;
  return IsDiscovery(call.info) ? std::min(call.deadline, now + kDiscoveryTime) : call.deadline;
}

// kube-apiserver connects both sides; here no connection is given away.
bool AsksForUpgrade(const Call& call) {
  for (const std::string_view value : call.headers().All("Connection")) {
    if (base::ToLower(value).find("upgrade") != std::string::npos) return true;
  }
  return false;
}

}  // namespace

void PassOn(Aggregation& aggregation, const std::shared_ptr<const ApiService>& service,
            const std::shared_ptr<Call>& call) {
  const auto refuse = [&call](int status, std::string_view text) {
    filters::Finish(*call, Refusal(status, text));
  };
  if (!service->available) return refuse(503, "service unavailable");
  if (call->exchange->body_too_large()) {
    return filters::Finish(*call,
                           ErrorReply(*call, api::RequestEntityTooLargeStatus("limit is 3145728")));
  }
  const std::string path = golang::EscapePath(call->info.path);
  const std::string query = EncodeQuery(call->request().query());
  std::string host;
  auto made =
      aggregation.RequestFor(*service, query.empty() ? path : base::StrCat(path, "?", query), host);
  if (!made.ok()) {
    return made.status().reason() == base::Reason::kInternalError
               ? refuse(500, made.status().message())
               : refuse(503, "service unavailable");
  }
  if (AsksForUpgrade(*call)) {
    return refuse(503, "error dialing backend: connections are not passed on");
  }
  net::ClientRequest request = *std::move(made);
  request.method = call->info.method;
  request.headers = RequestFields(*call, host, path);
  if (!call->body.empty())
    request.body = std::make_shared<const std::string>(std::move(call->body));
  if (call->info.verb == "watch") {  // it is the other server's work
    call->recorder.set_place(nullptr);
    call->seat.reset();
  }
  auto passage = std::make_shared<Passage>(aggregation, call, std::move(host));
  const auto exchange = call->exchange;
  request.on_data = [passage, exchange](const net::ResponseHead& head, std::string_view piece) {
    AnswerIfMemoryRunsOut(*exchange, [&] { passage->OnData(head, piece); });
  };
  const base::SteadyTime deadline = DeadlineOf(*call);
  auto pending = aggregation.https().Begin(
      std::move(request), deadline, [passage, exchange](net::CallResult result) {
        AnswerIfMemoryRunsOut(*exchange, [&] { passage->OnDone(result); });
      });
  exchange->OnClosed([weak = std::weak_ptr<net::PendingCall>(pending)] {
    if (const auto still = weak.lock()) still->Cancel();
  });
  passage->SetPending(std::move(pending));
}

}  // namespace portcullis::server
