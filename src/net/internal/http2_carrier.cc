// SPDX-License-Identifier: Apache-2.0

#include "net/internal/http2_carrier.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "base/allocation_failure.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "net/internal/answer_reader.h"

namespace portcullis::net::internal {
namespace {

constexpr std::string_view kDeadlineExceeded = "context deadline exceeded";
constexpr std::string_view kCanceled = "context canceled";
// How often Go sends a request again that no server has looked at.
constexpr int kMaxRefusals = 7;

Http2Options OptionsFor(const ClientOptions& options) {
  Http2Options out;
  // As Kubernetes sets up its transports (k8s.io/apimachinery/pkg/util/net).
  out.ping_after = std::chrono::seconds(30);
  out.ping_timeout = std::chrono::seconds(15);
  out.ping_failure = "http2: client connection lost";
  // As Go's.
  out.stream_window = 4 << 20;
  out.connection_window = 1 << 30;
  out.max_header_bytes = options.max_header_bytes;
  return out;
}

template <typename Number>
Number NumberOf(std::string_view text, Number otherwise) {
  Number number = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

// One call on the connection.
class Http2Carrier::Exchange final : public Http2Receiver {
 public:
  Exchange(Http2Carrier& owner, std::shared_ptr<ClientCall> its_call)
      : call(std::move(its_call)), reader(*call), carrier_(owner) {}

  void OnField(std::string_view name, std::string_view value) override {
    if (has_head) return;  // trailers
    if (name == ":status") return reader.OnStatus(NumberOf(value, 0));
    if (name == "content-length") content_length_ = NumberOf<std::int64_t>(value, -1);
    reader.OnField(name, value);
  }
  void OnHead() override {
    has_head = true;
    reader.OnHead(content_length_);
  }
  void OnData(std::string_view piece) override {
    if (reader.OnBody(piece)) return;
    call->is_too_large = reader.is_too_large();
    carrier_.GiveUp(*this, reader.failed_phase(), reader.cause());
  }
  bool is_paused() const override { return call->paused(); }
  void OnEnd(const Http2End& end) override { carrier_.Finish(*this, end); }

  CallPhase phase() const { return has_head ? CallPhase::kRead : CallPhase::kFirstByte; }

  const std::shared_ptr<ClientCall> call;
  AnswerReader reader;
  std::int32_t stream = 0;
  bool has_head = false;

 private:
  Http2Carrier& carrier_;
  std::int64_t content_length_ = -1;
};

Http2Carrier::Http2Carrier(std::shared_ptr<ClientCore> core, Http2Handover made)
    : core_(std::move(core)),
      loop_(std::move(made.loop)),
      key_(std::move(made.key)),
      tls_(std::move(made.tls)),
      address_(std::move(made.address)),
      stream_(std::move(made.stream)),
      without_san_(stream_->peer_check().without_san),
      with_sha1_(stream_->peer_check().with_sha1) {}

Http2Carrier::~Http2Carrier() = default;

void Http2Carrier::Begin() {
  connection_ = std::make_shared<Http2ClientConnection>(loop_, core_->resolver(), Http2Target{},
                                                        OptionsFor(core_->options()), *this);
  connection_->Adopt(std::move(stream_));
}

void Http2Carrier::Carry(std::shared_ptr<ClientCall> call) {
  if (!connection_->has_room()) {
    takes_calls_ = false;
    return core_->Dispatch(call, nullptr);
  }
  call->SetCarrier(weak_from_this());
  call->result.address = address_;
  call->result.certificate_without_san = without_san_;
  call->result.certificate_with_sha1 = with_sha1_;
  call->result.reused_connection = std::exchange(reused_, true);
  const ClientCall* const key = call.get();
  const auto made = exchanges_.emplace(key, std::make_unique<Exchange>(*this, std::move(call)));
  Exchange& exchange = *made.first->second;
  const bool is_begun = base::UnlessMemoryRunsOut([&] {
    exchange.stream = Start(*exchange.call, exchange);
    if (exchange.stream != 0) ArmTimer();
  });
  if (!is_begun) return GiveUp(exchange, CallPhase::kWrite, "cannot allocate memory");
  LookAtRoom();
  if (exchange.stream != 0) return;
  takes_calls_ = false;
  const auto refused = Release(exchange);
  core_->Dispatch(refused->call, nullptr);
}

std::int32_t Http2Carrier::Start(const ClientCall& call, Exchange& exchange) {
  const std::string& method = call.request->method;
  const bool has_length = TellsLength(method, call.body);
  const std::string length = has_length ? std::to_string(call.body.size()) : std::string();
  fields_.clear();
  for (const Header& field : call.prepared->http2_head) {
    fields_.push_back({.name = field.name, .value = field.value});
  }
  if (has_length) {
    fields_.push_back({.name = "content-length", .value = length, .changes = true});
  }
  return connection_->Start(fields_, call.body, true, exchange);
}

std::unique_ptr<Http2Carrier::Exchange> Http2Carrier::Release(const Exchange& exchange) {
  auto node = exchanges_.extract(exchange.call.get());
  if (exchanges_.empty()) {
    idle_since_ = loop_->now();
    ArmTimer();
  }
  return std::move(node.mapped());
}

void Http2Carrier::Finish(Exchange& exchange, const Http2End& end) {
  const auto ended = Release(exchange);
  const auto& call = ended->call;
  LookAtRoom();
  if (end.complete && ended->reader.Finish()) {
    if (!call->Answer(std::move(ended->reader.response()))) core_->Dispatch(call, nullptr);
    return;
  }
  if (end.complete) {
    call->is_too_large = ended->reader.is_too_large();
    call->result.response = std::move(ended->reader.response());
    return call->Fail(ended->reader.failed_phase(), ended->reader.cause());
  }
  // A server that does not like the first request of a connection will not like it on another one either.
  const bool useless = goaway_ && goaway_->code != NGHTTP2_NO_ERROR && ended->stream == 1;
  const bool unheard =
      end.not_processed || (end.reset_by_server && end.code == NGHTTP2_PROTOCOL_ERROR);
  if (unheard && !ended->has_head && !useless && ++call->refusals < kMaxRefusals) {
    return Again(call);
  }
  std::string text = TextOf(*ended, end);
  if (ended->has_head) call->result.response = std::move(ended->reader.response());
  const bool of_handshake = text.starts_with("remote error: tls:");
  call->Fail(of_handshake ? CallPhase::kHandshake : ended->phase(), std::move(text));
}

// Not at once: the connection is in the middle of something.
void Http2Carrier::Again(const std::shared_ptr<ClientCall>& call) {
  const auto send = [core = core_, loop = loop_, call] {
    if (loop->now() >= call->deadline) {
      return call->Fail(CallPhase::kConnect, std::string(kDeadlineExceeded));
    }
    core->Dispatch(call, nullptr);
  };
  call->SetCarrier({});
  if (call->refusals == 1) return loop_->Defer(send);
  const auto pause = std::chrono::seconds(1 << (call->refusals - 2));
  loop_->At(std::min<base::SteadyTime>(loop_->now() + pause, call->deadline), send);
}

void Http2Carrier::GiveUp(Exchange& exchange, CallPhase phase, std::string cause) {
  connection_->Reset(exchange.stream);
  const auto ended = Release(exchange);
  LookAtRoom();
  if (ended->has_head) ended->call->result.response = std::move(ended->reader.response());
  ended->call->Fail(phase, std::move(cause));
}

void Http2Carrier::GiveUpAll(std::string_view cause) {
  while (!exchanges_.empty()) {
    Exchange& exchange = *exchanges_.begin()->second;
    GiveUp(exchange, exchange.phase(), std::string(cause));
  }
}

std::string Http2Carrier::TextOf(const Exchange& exchange, const Http2End& end) const {
  if (!end.connection_lost) return ResetText(exchange, end);
  const bool is_eof = end.cause == "EOF";
  if (goaway_ && (is_eof || end.cause.starts_with("read tcp"))) {
    return base::StrCat("http2: server sent GOAWAY and closed the connection; LastStreamID=",
                        std::to_string(goaway_->last_stream),
                        ", ErrCode=", nghttp2_http2_strerror(goaway_->code),
                        ", debug=", base::GoQuote(goaway_->debug_data));
  }
  return is_eof ? "unexpected EOF" : end.cause;
}

std::string Http2Carrier::ResetText(const Exchange& exchange, const Http2End& end) const {
  const std::string_view code = nghttp2_http2_strerror(end.code);
  if (goaway_ && end.not_processed && exchange.stream == 1) {
    return base::StrCat("http2: Transport received GOAWAY from server ErrCode:",
                        nghttp2_http2_strerror(goaway_->code));
  }
  const std::string text =
      base::StrCat("stream error: stream ID ", std::to_string(exchange.stream), "; ");
  if (end.head_too_large) {
    return base::StrCat(text, nghttp2_http2_strerror(NGHTTP2_PROTOCOL_ERROR),
                        "; http2: response header list larger than advertised limit");
  }
  return base::StrCat(text, code, end.reset_by_server ? "; received from peer" : "");
}

void Http2Carrier::CancelCall(const ClientCall& call) {
  const auto found = exchanges_.find(&call);
  if (found == exchanges_.end()) return;
  GiveUp(*found->second, found->second->phase(), std::string(kCanceled));
}

void Http2Carrier::ResumeCall(const ClientCall& call) {
  const auto found = exchanges_.find(&call);
  if (found != exchanges_.end() && found->second->stream != 0)
    connection_->Resume(found->second->stream);
}

void Http2Carrier::CloseIfIdle() {
  if (exchanges_.empty()) Close();
}

void Http2Carrier::Abort() {
  GiveUpAll(kCanceled);
  Close();
}

void Http2Carrier::OnDraining(const Http2Goaway& goaway) {
  takes_calls_ = false;
  goaway_ = {goaway.code, goaway.last_stream, std::string(goaway.debug_data)};
}

void Http2Carrier::OnClosed(const std::string& cause) {
  (void)cause;  // the calls have heard of it
  takes_calls_ = false;
  loop_->Cancel(timer_);
  core_->Forget(shared_from_this());
}

void Http2Carrier::Close() {
  takes_calls_ = false;
  loop_->Cancel(timer_);
  if (connection_) connection_->Close(std::string(kCanceled));
  core_->Forget(shared_from_this());
}

void Http2Carrier::LookAtRoom() { takes_calls_ = connection_->has_room(); }

base::SteadyTime Http2Carrier::due() const {
  if (exchanges_.empty()) return idle_since_ + core_->options().idle_timeout;
  base::SteadyTime first = base::SteadyTime::max();
  for (const auto& [call, exchange] : exchanges_) first = std::min(first, call->deadline);
  return first;
}

// As ClientConnection's: a timer that is set for an earlier time stays.
void Http2Carrier::ArmTimer() {
  const base::SteadyTime time = due();
  if (timer_.id != 0 && timer_.time <= time) return;
  loop_->Cancel(timer_);
  timer_ = loop_->At(time, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->OnTimer();
  });
}

void Http2Carrier::OnTimer() {
  timer_ = {};
  const auto now = loop_->now();
  if (exchanges_.empty()) return due() <= now ? Close() : ArmTimer();
  // One by one: who hears of one may end others.
  const auto is_late = [now](const auto& entry) { return entry.first->deadline <= now; };
  const auto find = [&] { return std::find_if(exchanges_.begin(), exchanges_.end(), is_late); };
  for (auto late = find(); late != exchanges_.end(); late = find()) {
    GiveUp(*late->second, late->second->phase(), std::string(kDeadlineExceeded));
  }
  if (!exchanges_.empty()) ArmTimer();
}

}  // namespace portcullis::net::internal
