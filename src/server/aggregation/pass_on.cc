// SPDX-License-Identifier: Apache-2.0

#include "server/aggregation/pass_on.h"

#include <algorithm>
#include <utility>

#include "api/api_status.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "golang/url.h"
#include "server/aggregation/ongoing_call.h"
#include "server/aggregation/passed_fields.h"
#include "server/aggregation/upgrade.h"
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
// Of an answer that its client has not taken. While there is more, the server's is left in its socket.
constexpr std::size_t kMaxUnsent = 1 << 20;
constexpr auto kDiscoveryTime = 5s;
constexpr auto kUnlimited = std::chrono::hours(24 * 30);  // of a watch

Reply Refusal(int status, std::string_view text) {
  return TextReply(status, base::StrCat(text, "\n"));
}

bool IsDiscovery(const RequestInfo& info) {
  return !info.is_resource &&
         std::count(info.path.begin(), info.path.end(), '/') == (info.path.ends_with('/') ? 4 : 3);
}

// What Go's server says of a body whose type is not told, as far as API servers send such.
std::string_view TypeOf(std::string_view body) {
  const auto is_binary = [](char c) {
    return c >= 0 && c < 0x20 && c != '\t' && c != '\n' && c != '\f' && c != '\r' && c != 0x1B;
  };
  const std::string_view front = body.substr(0, 512);
  return std::any_of(front.begin(), front.end(), is_binary) ? "application/octet-stream"
                                                            : "text/plain; charset=utf-8";
}

// One call on its way to the server and back.
class Passage : public std::enable_shared_from_this<Passage> {
 public:
  Passage(Aggregation& aggregation, std::shared_ptr<Call> call, std::string host)
      : passing_(aggregation), call_(std::move(call)), host_(std::move(host)) {
    if (call_->info.verb != "watch") return;
    SetFlowHeaders(*call_, flow_);
    call_->recorder.set_place(nullptr);
    call_->seat.reset();  // what follows is the other server's work
  }

  OngoingCall& ongoing() { return ongoing_; }

  // On an I/O thread, as all that follows.
  void OnData(const net::ResponseHead& head, std::string_view piece) {
    if (stage_ == Stage::kWaiting) Begin(head);
    if (stage_ == Stage::kHolding) {
      held_.append(piece);
    } else if (stage_ == Stage::kStreaming && !piece.empty()) {
      ongoing_.Write(*call_->exchange, piece, kMaxUnsent);
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
      if (!held_.empty() && !head_.headers.Has("Content-Type") &&
          !head_.headers.Has("Content-Encoding")) {
        head_.headers.Add("Content-Type", TypeOf(held_));
      }
      call->exchange->Respond({head_.status, std::move(head_.headers), std::move(held_), nullptr});
      filters::NoteOutcome(*call, head_.status);
    }
    ongoing_.Done();
  }

 private:
  enum class Stage { kWaiting, kHolding, kStreaming, kAnswered };

  // Instead of the server's answer.
  void Refuse(Reply reply) {
    stage_ = Stage::kAnswered;
    filters::Finish(*call_, std::move(reply));
    ongoing_.Cancel();
  }

  void Begin(const net::ResponseHead& head) {
    Call& call = *call_;
    // To a client that has asked for no upgrade a 101 would announce that the answer is still to come.
    if (head.status < 200) {
      return Refuse(WithFlow(Refusal(
          503, head.status == 101 ? base::StrCat("backend tried to switch protocol ",
                                                 base::GoQuote(head.headers.Get("Upgrade")),
                                                 " when \"\" was requested")
                                  : "error trying to reach service: malformed HTTP status code")));
    }
    const std::string_view location = head.headers.Get("Location");
    if (head.status >= 300 && head.status < 400 && !location.empty() &&
        call.env.options->aggregator_reject_forwarding_redirect) {
      Reply reply =
          TextReply(502, "the backend attempted to redirect this request, which is not permitted");
      reply.headers.Remove("X-Content-Type-Options");
      return Refuse(std::move(reply));
    }
    head_.status = head.status;
    filters::NoteStart(call, head.status);
    Reply plain{.content_type = {}};
    plain.headers = flow_;
    head_.headers = filters::HeadersOf(call, plain);
    for (const net::Header& field : head.headers) {
      const std::string name = base::ToLower(field.name);
      if (StaysBehind(head.headers, name)) continue;
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
    call.exchange->OnDrained([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->ongoing_.Resume();
    });
  }

  Reply WithFlow(Reply reply) const {
    for (const net::Header& field : flow_) reply.headers.Set(field.name, field.value);
    return reply;
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
            call,
            WithFlow(Refusal(503, base::StrCat("error trying to reach service: ", failure.cause))));
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
  net::Headers flow_;  // of the answer to a call that has given up its seat
  Stage stage_ = Stage::kWaiting;
  net::ResponseHead head_;
  std::string held_;
  OngoingCall ongoing_;
};

base::SteadyTime DeadlineOf(const Call& call) {
  const base::SteadyTime now = call.env.clock->Steady();
  if (IsLongRunning(call.info)) return now + kUnlimited;
  return IsDiscovery(call.info) ? std::min(call.deadline, now + kDiscoveryTime) : call.deadline;
}

}  // namespace

void PassOn(Aggregation& aggregation, const std::shared_ptr<const ApiService>& service,
            const std::shared_ptr<Call>& call) {
  const auto refuse = [&call](int status, std::string_view text) {
    filters::CountUnreached(*call, status);
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
  const bool upgrades = net::AsksForUpgrade(call->headers());
  auto made = aggregation.RequestFor(
      *service, query.empty() ? path : base::StrCat(path, "?", query), host, upgrades);
  if (!made.ok()) {
    return made.status().reason() == base::Reason::kInternalError
               ? refuse(500, made.status().message())
               : refuse(503, "service unavailable");
  }
  net::ClientRequest request = *std::move(made);
  request.method = call->info.method;
  request.headers = upgrades ? UpgradeFields(*call) : RequestFields(*call, host, path);
  if (!call->body.empty())
    request.body = std::make_shared<const std::string>(std::move(call->body));
  if (upgrades) return PassUpgradeOn(aggregation, call, std::move(request));
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
  exchange->OnClosed([passage] { passage->ongoing().Cancel(); });
  passage->ongoing().Set(std::move(pending));
}

}  // namespace portcullis::server
