// SPDX-License-Identifier: Apache-2.0

#include "server/aggregation/upgrade.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "api/api_status.h"
#include "base/strings.h"
#include "server/aggregation/ongoing_call.h"
#include "server/aggregation/passed_fields.h"
#include "server/allocation_failure.h"
#include "server/filters/finish.h"
#include "server/reply.h"

namespace portcullis::server {
namespace {

using namespace std::chrono_literals;

// Of one direction, in memory; more is left in the sender's socket.
constexpr std::size_t kMaxUnsent = 256 << 10;
constexpr auto kUnlimited = std::chrono::hours(24 * 30);
constexpr auto kRefusalTime = 10s;  // for a client to take what refuses the upgrade

// The head of an answer as http.Response.Write makes it of one that has been read.
std::string RefusalHead(const net::ResponseHead& head, std::string_view raw) {
  std::string line(raw.substr(0, raw.find_first_of("\r\n")));
  const std::string code = std::to_string(head.status);
  if (line.ends_with(base::StrCat(" ", code, " "))) line += code;  // it had no reason
  std::vector<net::Header> fields;
  std::string length;
  for (const net::Header& field : head.headers) {
    std::string name = net::CanonicalHeaderName(field.name);
    if (name == "Content-Length") {
      length = base::StrCat(name, ": ", field.value, "\r\n");
    } else if (name == "Transfer-Encoding") {
      length = "Transfer-Encoding: chunked\r\n";
    } else if (name != "Connection" && name != "Trailer") {
      fields.push_back({std::move(name), field.value});
    }
  }
  std::stable_sort(fields.begin(), fields.end(),
                   [](const auto& a, const auto& b) { return a.name < b.name; });
  const bool closes = length.empty() || head.headers.HasToken("Connection", "close");
  std::string out = base::StrCat(line, "\r\n", closes ? "Connection: close\r\n" : "", length);
  for (const net::Header& field : fields)
    out += base::StrCat(field.name, ": ", field.value, "\r\n");
  return out + "\r\n";
}

// What tryUpgrade tells of a call that has no answer.
std::string TextOf(const net::CallFailure& failure) {
  constexpr std::string_view kBroken = "net/http: HTTP/1.x transport connection broken: ";
  if (failure.phase < net::CallPhase::kWrite)
    return base::StrCat("error dialing backend: ", failure.cause);
  if (failure.phase == net::CallPhase::kWrite)
    return base::StrCat("error sending request: ", failure.cause);
  if (failure.cause == "EOF") return "unexpected EOF";
  const std::string_view cause = failure.cause;
  return std::string(cause.starts_with(kBroken) ? cause.substr(kBroken.size()) : cause);
}

// The server's callbacks come on one I/O thread, the client's on another one.
class Upgrade : public std::enable_shared_from_this<Upgrade> {
 public:
  Upgrade(Aggregation& aggregation, std::shared_ptr<Call> call)
      : passing_(aggregation), call_(std::move(call)), exchange_(call_->exchange) {}

  OngoingCall& ongoing() { return ongoing_; }

  void OnAnswer(const net::ResponseHead& head, std::string_view raw) {
    if (stage_ == Stage::kWaiting) return Begin(head, raw);
    if (stage_ == Stage::kOpen) ongoing_.Write(*exchange_, raw, kMaxUnsent);
  }

  void OnDone(const net::CallResult& result) {
    ongoing_.Done();
    const std::shared_ptr<Call> call = std::move(call_);
    if (stage_ == Stage::kAnswered) return;
    if (stage_ == Stage::kWaiting && result.failure) return Fail(*call, *result.failure);
    stage_ == Stage::kOpen ? exchange_->Finish() : exchange_->Abort();
    filters::NoteOutcome(*call, 101);  // whatever the server has answered
  }

 private:
  enum class Stage { kWaiting, kOpen, kAnswered };

  void Begin(const net::ResponseHead& head, std::string_view raw) {
    if (head.status != 101 && head.status < 400) {
      stage_ = Stage::kAnswered;
      const std::string status = std::to_string(head.status);
      Refuse(*call_, base::StrCat("invalid upgrade response: status code ", status));
      return ongoing_.Cancel();
    }
    stage_ = Stage::kOpen;
    call_->seat.reset();  // what follows is the other server's work
    filters::NoteStart(*call_, 101);
    const bool is_open = head.status == 101;
    exchange_->SetDeadline(is_open ? base::SteadyTime::max()
                                   : call_->env.clock->Steady() + kRefusalTime);
    exchange_->OnDrained([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->ongoing_.Resume();
    });
    net::StartTunnel(*exchange_,
                     [this, is_open, self = shared_from_this()](std::string_view bytes) {
                       if (is_open) PassBytesOn(bytes);
                     });
    if (is_open) return ongoing_.Write(*exchange_, raw, kMaxUnsent);
    const auto body = raw.find("\n\r\n");
    ongoing_.Write(*exchange_, RefusalHead(head, raw), kMaxUnsent);
    if (body != raw.npos) ongoing_.Write(*exchange_, raw.substr(body + 3), kMaxUnsent);
  }

  // On the client's I/O thread. The next piece is read when the socket has taken this one.
  void PassBytesOn(std::string_view bytes) {
    const auto pending = ongoing_.Get();
    if (pending == nullptr) return;  // it is over
    net::Send(*pending, std::string(bytes), [exchange = exchange_] { net::ReadMore(*exchange); });
  }

  static void Refuse(Call& call, std::string_view text) {
    filters::Finish(call, TextReply(503, base::StrCat(text, "\n")));
  }

  void Fail(Call& call, const net::CallFailure& failure) {
    if (!failure.timed_out || failure.phase < net::CallPhase::kWrite)
      return Refuse(call, TextOf(failure));
    filters::Finish(
        call, TimeoutReply(call, api::TimeoutStatus(
                                     "request did not complete within the allotted timeout", 0)));
  }

  const Aggregation::Passing passing_;
  std::shared_ptr<Call> call_;
  const std::shared_ptr<net::Exchange> exchange_;
  Stage stage_ = Stage::kWaiting;
  OngoingCall ongoing_;
};

}  // namespace

void PassUpgradeOn(Aggregation& aggregation, const std::shared_ptr<Call>& call,
                   net::ClientRequest request) {
  const auto upgrade = std::make_shared<Upgrade>(aggregation, call);
  const auto exchange = call->exchange;
  static const auto kDirect = std::make_shared<const net::ProxyRules>(net::ProxySettings{});
  request.proxies = kDirect;
  request.on_data = [upgrade, exchange](const net::ResponseHead& head, std::string_view raw) {
    AnswerIfMemoryRunsOut(*exchange, [&] { upgrade->OnAnswer(head, raw); });
  };
  const base::SteadyTime deadline =
      IsLongRunning(call->info) ? call->env.clock->Steady() + kUnlimited : call->deadline;
  auto pending = aggregation.https().Begin(
      std::move(request), deadline, [upgrade, exchange](net::CallResult result) {
        AnswerIfMemoryRunsOut(*exchange, [&] { upgrade->OnDone(result); });
      });
  exchange->OnClosed([upgrade] { upgrade->ongoing().Cancel(); });
  upgrade->ongoing().Set(std::move(pending));
}

}  // namespace portcullis::server
