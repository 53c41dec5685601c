// SPDX-License-Identifier: Apache-2.0

#include "net/internal/client_connection.h"

#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/allocation_failure.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "net/internal/gathering.h"
#include "net/internal/tls_context.h"

namespace portcullis::net::internal {
namespace {

constexpr std::string_view kDeadlineExceeded = "context deadline exceeded";
constexpr std::string_view kCanceled = "context canceled";

}  // namespace

ClientConnection::ClientConnection(std::shared_ptr<ClientCore> core, std::shared_ptr<Loop> loop,
                                   PoolKey key, std::shared_ptr<const ClientTls> tls,
                                   std::optional<Url> proxy)
    : core_(std::move(core)),
      loop_(std::move(loop)),
      key_(std::move(key)),
      tls_(std::move(tls)),
      proxy_(std::move(proxy)) {}

ClientConnection::~ClientConnection() = default;

template <typename Work>
void ClientConnection::Guard(Work&& work) {
  if (base::UnlessMemoryRunsOut(work) || !on_loop_) return;
  base::UnlessMemoryRunsOut([this] { Fail(phase(), "cannot allocate memory"); });
}

void ClientConnection::Connect(std::shared_ptr<ClientCall> call, const std::string& target) {
  call_ = std::move(call);
  Guard([&] { Dial(target); });
}

void ClientConnection::CarryOnLoop(std::shared_ptr<ClientCall> call) {
  Guard([&] { Carry(std::move(call), nullptr); });
}

void ClientConnection::Dial(const std::string& target) {
  call_->SetCarrier(weak_from_this());
  stage_deadline_ = loop_->now() + core_->options().dial_timeout;
  ArmTimer();
  dialer_ = std::make_shared<Dialer>(loop_, core_->resolver());
  dialer_->Start(target, [weak = weak_from_this()](Dialer::Outcome& outcome) {
    const auto self = weak.lock();
    if (!self || self->state_ != State::kDialling) return;
    self->Guard([&] { self->OnDialled(outcome); });
  });
}

void ClientConnection::OnDialled(Dialer::Outcome& outcome) {
  address_ = outcome.address;
  if (outcome.fd < 0) {
    return Fail(outcome.resolved ? CallPhase::kConnect : CallPhase::kResolve,
                DialError(outcome.error));
  }
  stream_ = std::make_unique<Stream>(outcome.TakeSocket());
  stream_->set_peer(outcome.address);
  token_ = loop_->Add(stream_->fd(), *this);
  call_->result.address = address_;
  if (!tls_) {
    return BeginFirstCall();
  }
  if (!proxy_) return StartHandshake(State::kHandshaking, call_->url().host);
  if (proxy_->scheme == "https") return StartHandshake(State::kProxyHandshaking, proxy_->host);
  AskProxy();
}

std::string ClientConnection::DialError(std::string_view text) const {
  return base::StrCat(proxy_ ? "proxyconnect tcp: " : "", text);
}

void ClientConnection::AskProxy() {
  state_ = State::kProxying;
  stage_deadline_ = {};
  ArmTimer();
  dialog_ = ProxyDialog::Begin(*proxy_, call_->url(), address_);
  if (SendToProxy()) ContinueProxying();
}

bool ClientConnection::SendToProxy() {
  const std::string output = dialog_->TakeOutput();
  const IoResult result = stream_->Write(output.data(), output.size());
  // It fits into the buffer of a new connection, unless that is broken.
  if (result.status == IoStatus::kOk && result.bytes == output.size()) return true;
  dialog_->OnBroken(false, stream_->error());
  Fail(CallPhase::kConnect, dialog_->error());
  return false;
}

void ClientConnection::ContinueProxying() {
  while (true) {
    const IoResult result = stream_->Read(loop_->scratch(), loop_->scratch_size());
    if (result.status == IoStatus::kWouldBlock) return;
    if (result.status != IoStatus::kOk) {
      dialog_->OnBroken(result.status == IoStatus::kEof, stream_->error());
      return Fail(CallPhase::kConnect, dialog_->error());
    }
    switch (dialog_->OnBytes({loop_->scratch(), result.bytes})) {
      case ProxyDialog::State::kUnderWay:
        if (!SendToProxy()) return;
        break;
      case ProxyDialog::State::kOpen:
        dialog_.reset();
        return StartHandshake(State::kHandshaking, call_->url().host);
      case ProxyDialog::State::kFailed:
        return Fail(CallPhase::kConnect, dialog_->error());
    }
  }
}

void ClientConnection::StartHandshake(State state, const std::string& host) {
  state_ = state;
  stage_deadline_ = loop_->now() + core_->options().handshake_timeout;
  ArmTimer();
  const auto& context = static_cast<const ClientTlsContext&>(*tls_);
  stream_->StartTls(context.NewSession(host), context.Check(host));
  ContinueHandshake();
}

void ClientConnection::ContinueHandshake() {
  const bool with_proxy = state_ == State::kProxyHandshaking;
  const IoStatus status = stream_->Handshake();
  if (status == IoStatus::kWouldBlock) return;
  if (status == IoStatus::kOk && with_proxy) return AskProxy();
  if (status == IoStatus::kOk) {
    return NegotiatedProtocol(stream_->ssl()) == "h2" ? HandOver() : BeginFirstCall();
  }
  if (with_proxy) return Fail(CallPhase::kConnect, DialError(stream_->error()));
  const bool http = stream_->first_bytes().starts_with("HTTP/");
  Fail(CallPhase::kHandshake,
       http ? "http: server gave HTTP response to HTTPS client" : stream_->error());
}

void ClientConnection::BeginFirstCall() {
  state_ = State::kBusy;
  stage_deadline_ = {};
  ArmTimer();
  StartCall();
  Proceed();
}

void ClientConnection::HandOver() {
  const auto self = shared_from_this();
  const auto call = std::move(call_);
  loop_->Remove(token_, stream_->fd());
  auto stream = std::move(stream_);
  Close();
  core_->CarryByHttp2(call, {key_, tls_, loop_, address_, std::move(stream)});
}

bool ClientConnection::IsSound() const {
  char byte = 0;
  return recv(stream_->fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

bool ClientConnection::Carry(std::shared_ptr<ClientCall> call, Gathering* driver) {
  call_ = std::move(call);
  driver_ = driver;
  reused_ = true;
  state_ = State::kBusy;
  call_->result.address = address_;
  if (driver == nullptr) {
    on_loop_ = true;
    call_->SetCarrier(weak_from_this());
    ArmTimer();
  }
  // The loop is not to wake up for what the driver polls for.
  if (only_hangups_ != (driver != nullptr)) {
    only_hangups_ = driver != nullptr;
    loop_->Watch(token_, stream_->fd(), only_hangups_);
  }
  StartCall();
  return Proceed();
}

void ClientConnection::StartCall() {
  if (tls_) {
    call_->result.certificate_without_san = stream_->peer_check().without_san;
    call_->result.certificate_with_sha1 = stream_->peer_check().with_sha1;
  }
  call_->result.reused_connection = reused_;
  trip_.emplace(*stream_, *call_, core_->options().max_header_bytes, reused_);
}

bool ClientConnection::Advance(bool readable) {
  if (readable) stream_->SetReadable(false);
  stream_->SetWritable();
  return Proceed();
}

bool ClientConnection::Proceed() {
  const auto scratch = driver_ != nullptr
                           ? driver_->scratch()
                           : std::span<char>(loop_->scratch(), loop_->scratch_size());
  switch (trip_->Advance(scratch)) {
    case RoundTrip::State::kUnderWay:
      if (call_->prepared->upgrades && on_loop_) LimitRefusal();
      return true;
    case RoundTrip::State::kAnswered:
      FinishAnswer();
      return false;
    case RoundTrip::State::kFailed:
      call_->is_too_large = trip_->is_too_large();
      Fail(trip_->failed_phase(), std::move(trip_->cause()));
      return false;
    case RoundTrip::State::kUnheard: {
      const auto call = std::move(call_);
      call->result = {};
      Close();
      core_->Dispatch(call, driver_);
      return false;
    }
  }
  return false;
}

void ClientConnection::FinishAnswer() {
  const auto call = std::move(call_);
  Response response = std::move(trip_->response());
  const bool keep = trip_->keeps_connection();
  trip_.reset();
  Gathering* const driver = driver_;
  keep ? BecomeIdle() : Close();
  // From here on it may be somebody else's.
  if (!call->Answer(std::move(response))) core_->Dispatch(call, driver);
}

void ClientConnection::BecomeIdle() {
  state_ = State::kIdle;
  const bool is_of_loop = std::exchange(driver_, nullptr) == nullptr;
  if (is_of_loop) on_loop_ = false;
  // A connection that is neither idle nor closed would never be found again, so it is closed without memory.
  bool is_kept = false;
  base::UnlessMemoryRunsOut([&] {
    if (is_of_loop && idle_timer_.id == 0) OnIdleTimer();
    is_kept = core_->Keep(shared_from_this());
  });
  if (!is_kept) Close();
}

void ClientConnection::OnIdleTimer() {
  const auto now = loop_->now();
  base::SteadyTime next;
  if (idle_timer_.id == 0) {
    next = now + core_->options().idle_timeout;
  } else if (core_->TakeExpired(*this, now, next)) {
    return Close();
  }
  idle_timer_ = loop_->At(next, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->OnIdleTimer();
  });
}

void ClientConnection::OnReady(Readiness readiness) {
  const auto self = shared_from_this();
  Guard([&] { React(readiness); });
}

void ClientConnection::React(Readiness readiness) {
  if (readiness.hangup || readiness.broken) hung_up = true;
  if (!on_loop_) {
    if (hung_up && core_->TakeHungUp(*this)) Close();
    return;
  }
  if (readiness.readable || readiness.hangup) stream_->SetReadable(readiness.hangup);
  if (readiness.writable) stream_->SetWritable();
  switch (state_) {
    case State::kProxying:
      ContinueProxying();
      break;
    case State::kProxyHandshaking:
    case State::kHandshaking:
      ContinueHandshake();
      break;
    case State::kBusy:
      Proceed();
      break;
    case State::kDialling:
    case State::kIdle:
    case State::kClosed:
      break;
  }
}

base::SteadyTime ClientConnection::due() const {
  const bool has_stage = stage_deadline_ != base::SteadyTime{};
  return has_stage ? std::min(call_->deadline, stage_deadline_) : call_->deadline;
}

// A timer that is set for an earlier time stays, and so it does when the call is over: nearly every call
// ends long before, and one timer then serves hundreds of them.
void ClientConnection::ArmTimer() {
  const base::SteadyTime time = due();
  if (timer_.id != 0 && timer_.time <= time) return;
  loop_->Cancel(timer_);
  timer_ = loop_->At(time, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->OnTimer();
  });
}

CallPhase ClientConnection::phase() const {
  switch (state_) {
    case State::kDialling:
      return dialer_ == nullptr || dialer_->address().empty() ? CallPhase::kResolve
                                                              : CallPhase::kConnect;
    case State::kProxyHandshaking:
    case State::kProxying:
      return CallPhase::kConnect;
    case State::kHandshaking:
      return CallPhase::kHandshake;
    default:
      return trip_ ? trip_->phase() : CallPhase::kFirstByte;
  }
}

void ClientConnection::OnTimer() {
  timer_ = {};
  if (!on_loop_ || !call_) return;
  if (loop_->now() < due()) return Guard([this] { ArmTimer(); });
  if (loop_->now() >= call_->deadline) return Expire();
  const bool dialling = state_ == State::kDialling;
  constexpr std::string_view kHandshakeTimeout = "net/http: TLS handshake timeout";
  Fail(phase(), dialling ? DialError(base::StrCat("dial tcp ", dialer_->address(), ": i/o timeout"))
                : state_ == State::kProxyHandshaking ? DialError(kHandshakeTimeout)
                                                     : std::string(kHandshakeTimeout));
}

void ClientConnection::Expire() { Fail(phase(), std::string(kDeadlineExceeded)); }

void ClientConnection::CancelCall(const ClientCall& call) {
  if (on_loop_ && call_.get() == &call) Abort();
}

// A connection that is to be given away carries one call.
void ClientConnection::LimitRefusal() {
  constexpr auto kRefusalTime = std::chrono::seconds(10);
  if (trip_->refuses() && !std::exchange(refused_, true))
    call_->deadline = std::min(call_->deadline, loop_->now() + kRefusalTime);
  ArmTimer();
}

void ClientConnection::ResumeCall(const ClientCall& call) {
  if (CarriesOnLoop(call)) Guard([this] { Proceed(); });
}

void ClientConnection::SendMore(const ClientCall& call, std::string bytes,
                                std::function<void()> taken) {
  if (!CarriesOnLoop(call)) return;
  Guard([&] {
    trip_->Send(std::move(bytes), std::move(taken));
    Proceed();
  });
}

void ClientConnection::Abort() {
  if (on_loop_) return Fail(phase(), std::string(kCanceled));
  // The thread that drives it notices.
  if (stream_) shutdown(stream_->fd(), SHUT_RDWR);
}

void ClientConnection::Fail(CallPhase phase, std::string cause) {
  const auto call = std::move(call_);
  if (call && (phase == CallPhase::kRead || phase == CallPhase::kDecode))
    call->result.response = std::move(trip_->response());
  Close();
  if (call) call->Fail(phase, std::move(cause));
}

void ClientConnection::Close() {
  if (state_ == State::kClosed) return;
  const auto self = shared_from_this();
  if (stream_ && tls_) stream_->ShutdownWrite();
  // First, since it needs memory: the loop must not know a connection that has been forgotten.
  if (!loop_->InThread()) loop_->Post([self] { self->LeaveLoop(); });
  state_ = State::kClosed;
  core_->Forget(self);
  if (loop_->InThread()) LeaveLoop();
}

void ClientConnection::LeaveLoop() {
  on_loop_ = false;
  loop_->Cancel(timer_);
  loop_->Cancel(idle_timer_);
  if (dialer_) dialer_->Cancel();
  if (!stream_) return;
  loop_->Remove(token_, stream_->fd());
  // The stream may be in use below us on the stack.
  loop_->Defer([self = shared_from_this()] { self->stream_.reset(); });
}

}  // namespace portcullis::net::internal
