// SPDX-License-Identifier: Apache-2.0

#include "net/internal/http2_client_connection.h"

#include <algorithm>
#include <utility>

#include "base/allocation_failure.h"
#include "base/strings.h"
#include "net/internal/tls_context.h"

namespace portcullis::net::internal {
namespace {

// Frames are made only while less than this waits for the socket.
constexpr std::size_t kMaxQueued = 256 << 10;
// Reads of one turn; then the other sockets of the loop have theirs.
constexpr int kReadsPerTurn = 64;

}  // namespace

Http2ClientConnection::Http2ClientConnection(std::shared_ptr<Loop> loop, Resolver& resolver,
                                             Http2Target target, const Http2Options& options,
                                             Http2Listener& listener)
    : loop_(std::move(loop)),
      resolver_(resolver),
      target_(std::move(target)),
      options_(options),
      listener_(&listener) {}

Http2ClientConnection::~Http2ClientConnection() { nghttp2_session_del(session_); }

void Http2ClientConnection::Connect() {
  timer_ = loop_->At(loop_->now() + options_.connect_timeout, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || self->state_ == State::kClosed) return;
    self->Lose(self->TimeoutText());
  });
  dialer_ = std::make_shared<Dialer>(loop_, resolver_);
  // Not at once: nothing is called before the caller has the connection.
  loop_->Defer([self = shared_from_this()] {
    if (self->state_ != State::kConnecting) return;
    self->dialer_->Start(self->target_.host_port, [weak = self->weak_from_this()](auto& outcome) {
      const auto connection = weak.lock();
      if (!connection || connection->state_ != State::kConnecting) return;
      if (base::UnlessMemoryRunsOut([&] { connection->OnDialled(outcome); })) return;
      base::UnlessMemoryRunsOut([&] { connection->Lose("cannot allocate memory"); });
    });
  });
}

std::string Http2ClientConnection::TimeoutText() const {
  if (state_ == State::kConnecting) {
    return base::StrCat("dial tcp ", dialer_->address(), ": i/o timeout");
  }
  return state_ == State::kHandshaking ? "TLS handshake timeout"
                                       : "the server has not begun to speak HTTP/2 in time";
}

void Http2ClientConnection::OnDialled(Dialer::Outcome& outcome) {
  if (outcome.fd < 0) return Lose(outcome.error);
  stream_ = std::make_unique<Stream>(outcome.TakeSocket());
  stream_->set_peer(outcome.address);
  token_ = loop_->Add(stream_->fd(), *this);
  if (!target_.tls) return Greet();
  state_ = State::kHandshaking;
  const auto& context = static_cast<const ClientTlsContext&>(*target_.tls);
  stream_->StartTls(context.NewSession(target_.server_name), context.Check(target_.server_name));
  ContinueHandshake();
}

void Http2ClientConnection::Adopt(std::unique_ptr<Stream> stream) {
  stream_ = std::move(stream);
  token_ = loop_->Add(stream_->fd(), *this);
  Greet();
}

void Http2ClientConnection::ContinueHandshake() {
  const IoStatus status = stream_->Handshake();
  if (status == IoStatus::kWouldBlock) return;
  if (status != IoStatus::kOk) {
    const bool http = stream_->first_bytes().starts_with("HTTP/");
    return Lose(http ? "http: server gave HTTP response to HTTPS client" : stream_->error());
  }
  const std::string protocol = NegotiatedProtocol(stream_->ssl());
  if (protocol == "h2") return Greet();
  Lose(protocol.empty() ? "the server does not speak HTTP/2: it has chosen no protocol by ALPN"
                        : base::StrCat("the server does not speak HTTP/2 but ", protocol));
}

void Http2ClientConnection::Greet() {
  if (!MakeSession()) return Lose("cannot allocate memory");
  state_ = State::kGreeting;
  SchedulePull();
  Read();
}

// The server's first frame has come: only now is it certain that it has taken the client certificate.
void Http2ClientConnection::OnGreeting() {
  loop_->Cancel(timer_);
  state_ = State::kOpen;
  if (listener_ != nullptr) listener_->OnConnected();
}

void Http2ClientConnection::OnReady(Readiness readiness) {
  const auto self = shared_from_this();
  if (base::UnlessMemoryRunsOut([&] { React(readiness); }) || state_ == State::kClosed) return;
  base::UnlessMemoryRunsOut([this] { Lose("cannot allocate memory"); });
}

void Http2ClientConnection::React(Readiness readiness) {
  if (readiness.readable || readiness.hangup) stream_->SetReadable(readiness.hangup);
  if (readiness.writable) stream_->SetWritable();
  if (state_ == State::kHandshaking) return ContinueHandshake();
  if (!alive()) return;
  if (readiness.writable && !out_.empty()) SchedulePull();
  Read();
}

void Http2ClientConnection::Read() {
  for (int i = 0; i < kReadsPerTurn; ++i) {
    const IoResult result = stream_->Read(loop_->scratch(), loop_->scratch_size());
    if (result.status == IoStatus::kWouldBlock) return;
    if (result.status == IoStatus::kEof) return Lose("EOF");
    if (result.status == IoStatus::kError) return Lose(stream_->error());
    heard_at_ = loop_->now();
    pinged_at_ = {};
    in_nghttp2_ = true;
    const auto taken = nghttp2_session_mem_recv(
        session_, reinterpret_cast<const std::uint8_t*>(loop_->scratch()), result.bytes);
    in_nghttp2_ = false;
    if (!alive()) return;
    if (taken < 0) return Lose(nghttp2_strerror(static_cast<int>(taken)));
    SchedulePull();  // acknowledgements and windows
  }
  if (read_scheduled_) return;
  loop_->Post([self = shared_from_this()] {
    self->read_scheduled_ = false;
    if (self->alive()) self->Read();
  });
  read_scheduled_ = true;
}

void Http2ClientConnection::SchedulePull() {
  if (pull_scheduled_) return;
  loop_->Defer([self = shared_from_this()] {
    self->pull_scheduled_ = false;
    if (base::UnlessMemoryRunsOut([&] { self->Pull(); }) || self->state_ == State::kClosed) return;
    base::UnlessMemoryRunsOut([&] { self->Lose("cannot allocate memory"); });
  });
  pull_scheduled_ = true;
}

void Http2ClientConnection::Pull() {
  while (alive()) {
    while (out_.bytes() < kMaxQueued) {
      const std::uint8_t* data = nullptr;
      in_nghttp2_ = true;
      const auto size = nghttp2_session_mem_send(session_, &data);
      in_nghttp2_ = false;
      if (!alive()) return;
      if (size < 0) return Lose(nghttp2_strerror(static_cast<int>(size)));
      if (size == 0) break;
      out_.Append(
          std::string_view(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size)));
    }
    if (out_.empty()) break;
    if (!Flush()) return;
  }
  if (!alive() || nghttp2_session_want_read(session_) != 0 ||
      nghttp2_session_want_write(session_) != 0) {
    return;
  }
  Lose(state_ == State::kDraining ? "the server has closed the connection (GOAWAY)"
                                  : "the server has sent what is not HTTP/2");
}

// False: the socket takes no more for now, or is broken.
bool Http2ClientConnection::Flush() {
  while (!out_.empty()) {
    const std::string_view bytes = out_.Front();
    const IoResult result = stream_->Write(bytes.data(), bytes.size());
    if (result.status == IoStatus::kWouldBlock) return false;
    if (result.status != IoStatus::kOk) {
      Lose(stream_->error());
      return false;
    }
    out_.Consume(result.bytes);
  }
  return true;
}

void Http2ClientConnection::ArmPing() {
  if (options_.ping_after == base::Duration{} || ping_armed_) return;
  const auto time = pinged_at_ == base::SteadyTime{} ? heard_at_ + options_.ping_after
                                                     : pinged_at_ + options_.ping_timeout;
  timer_ = loop_->At(time, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->OnPingTimer();
  });
  ping_armed_ = true;
}

void Http2ClientConnection::OnPingTimer() {
  ping_armed_ = false;
  if (!alive() || streams_.empty()) return;
  const auto now = loop_->now();
  if (pinged_at_ != base::SteadyTime{}) {
    if (now >= pinged_at_ + options_.ping_timeout) {
      return Lose(std::string(options_.ping_failure));
    }
  } else if (now >= heard_at_ + options_.ping_after) {
    pinged_at_ = now;
    Ping(nullptr);
  }
  ArmPing();
}

void Http2ClientConnection::Ping(std::function<void()> acknowledged) {
  if (!alive()) return;
  if (nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr) != 0) return;
  pings_.push_back(std::move(acknowledged));
  SchedulePull();
}

void Http2ClientConnection::Lose(const std::string& cause) {
  if (state_ == State::kClosed) return;
  const auto self = shared_from_this();
  state_ = State::kClosed;
  LeaveLoop();
  EndAllStreams(cause);
  if (Http2Listener* const listener = std::exchange(listener_, nullptr)) listener->OnClosed(cause);
}

void Http2ClientConnection::Close(const std::string& cause) {
  if (state_ == State::kClosed) return;
  const auto self = shared_from_this();
  listener_ = nullptr;
  if (alive() && !in_nghttp2_) {
    nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, 0, NGHTTP2_NO_ERROR, nullptr, 0);
    Pull();
    if (state_ == State::kClosed) return;
    stream_->ShutdownWrite();
  }
  state_ = State::kClosed;
  LeaveLoop();
  EndAllStreams(cause);
}

void Http2ClientConnection::EndAllStreams(const std::string& cause) {
  while (!streams_.empty()) {
    const ClientStream stream = std::move(streams_.begin()->second);
    streams_.erase(streams_.begin());
    stream.receiver->OnEnd(
        {.not_processed = !stream.sent, .connection_lost = true, .cause = cause});
  }
}

void Http2ClientConnection::LeaveLoop() {
  loop_->Cancel(timer_);
  if (dialer_) dialer_->Cancel();
  if (!stream_) return;
  loop_->Remove(token_, stream_->fd());
  // The stream may be in use below us on the stack.
  loop_->Defer([self = shared_from_this()] { self->stream_.reset(); });
}

}  // namespace portcullis::net::internal
