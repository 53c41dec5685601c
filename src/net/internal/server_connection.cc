// SPDX-License-Identifier: Apache-2.0

#include "net/internal/server_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "net/internal/tls_context.h"

namespace portcullis::net::internal {
namespace {

// Reads per turn, so that one busy connection cannot keep the loop from the others.
constexpr int kReadsPerTurn = 16;
constexpr auto kLinger = std::chrono::milliseconds(1000);
constexpr auto kTick = std::chrono::milliseconds(500);
// Clients write a request's head and a small body one right after the other.
constexpr auto kBodyPatience = std::chrono::milliseconds(10);

// Go's answer to a client that speaks HTTP on the TLS port.
constexpr std::string_view kPlainHttpAnswer =
    "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

bool LooksLikeHttp(std::string_view bytes) {
  for (const std::string_view start : {"GET /", "HEAD ", "POST ", "PUT /", "OPTIO"}) {
    if (bytes.starts_with(start)) return true;
  }
  return false;
}

void SetSocketOptions(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  const int idle_seconds = 180;
  const int interval_seconds = 15;
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof(idle_seconds));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_seconds, sizeof(interval_seconds));
}

}  // namespace

ServerConnection::ServerConnection(std::shared_ptr<ServerShard> shard, int fd,
                                   std::shared_ptr<const ServerTls> tls)
    : shard_(std::move(shard)),
      loop_(shard_->shared_loop()),
      tls_(std::move(tls)),
      remote_address_(RemoteAddress(fd)),
      stream_(fd) {}

ServerConnection::~ServerConnection() = default;

bool ServerConnection::Enter() {
  const std::string host = remote_address_.substr(0, remote_address_.rfind(':'));
  stranger_ = core().strangers.Add(host, core().options.max_strangers_per_address);
  return stranger_;
}

void ServerConnection::MarkKnown() {
  if (!stranger_ || !stranger_.exchange(false)) return;
  if (core().options.max_strangers_per_address == 0) return;
  core().strangers.Remove(remote_address_.substr(0, remote_address_.rfind(':')));
}

void ServerConnection::Begin() {
  SetSocketOptions(stream_.fd());
  connected_at_ = write_progress_at_ = loop_->now();
  if (tls_) {
    const auto& context = static_cast<const ServerTlsContext&>(*tls_);
    PeerCheck check;
    check.roots = context.required_roots();
    stream_.StartTls(context.NewSession(), std::move(check));
  } else {
    session_ = MakeHttp1Session(*this);
  }
  token_ = loop_->Add(stream_.fd(), *this);
}

void ServerConnection::OnReady(Readiness readiness) {
  const auto self = shared_from_this();
  shard_->EnsureTick();
  Guard([&] { React(readiness); });
}

void ServerConnection::React(Readiness readiness) {
  if (readiness.readable || readiness.hangup) stream_.SetReadable(readiness.hangup);
  if (readiness.writable) stream_.SetWritable();
  if (lingering_) return Discard();
  if (!session_) {
    ContinueHandshake();
    if (!session_ || closed_) return;
  }
  if (readiness.writable && !out_.empty()) Flush();
  if (closed_) return;
  if (readiness.readable || readiness.hangup) Pump();
  if (closed_ || !session_) return;
  if (readiness.broken) return Close();
  if (readiness.hangup) session_->OnPeerClosing();
}

void ServerConnection::ContinueHandshake() {
  const IoStatus status = stream_.Handshake();
  if (status == IoStatus::kWouldBlock) return;
  if (status == IoStatus::kOk) return StartSession();
  core().tls_errors.fetch_add(1, std::memory_order_relaxed);
  if (LooksLikeHttp(stream_.first_bytes())) return AnswerPlainHttp();
  Close();
}

void ServerConnection::AnswerPlainHttp() {
  stream_.Send(kPlainHttpAnswer.data(), kPlainHttpAnswer.size());
  shutdown(stream_.fd(), SHUT_WR);
  lingering_ = true;
  linger_until_ = loop_->now() + kLinger;
  Discard();
}

void ServerConnection::StartSession() {
  peer_judged_by_ = core().tls_generation.load(std::memory_order_acquire);
  VerifyCertificate();
  session_ =
      NegotiatedProtocol(stream_.ssl()) == "h2" ? MakeHttp2Session(*this) : MakeHttp1Session(*this);
  if (session_ == nullptr) return Close();
  if (core().draining) session_->Drain();
  if (!closed_) Pump();
}

void ServerConnection::VerifyCertificate() {
  const auto tls = core().Tls();
  const auto& context = static_cast<const ServerTlsContext&>(tls ? *tls : *tls_);
  peer_ = context.PeerOf(stream_.ssl(), core().options.clock->Now());
}

const std::shared_ptr<const ClientCertificate>& ServerConnection::JudgeCertificate() {
  if (peer_ == nullptr) return peer_;
  const auto since = core().options.clock->Now().time_since_epoch();
  const std::int64_t now = std::chrono::floor<std::chrono::seconds>(since).count();
  const std::uint64_t generation = core().tls_generation.load(std::memory_order_acquire);
  if (generation == peer_judged_by_ && now >= peer_->judged_from && now < peer_->judged_until) {
    return peer_;
  }
  peer_judged_by_ = generation;
  VerifyCertificate();
  return peer_;
}

void ServerConnection::Pump() {
  if (pumping_ || closed_ || lingering_) return;
  pumping_ = true;
  ReadSome();
  pumping_ = false;
}

void ServerConnection::ReadSome() {
  for (int reads = 0; !closed_ && !close_when_flushed_ && session_->WantsBytes(); ++reads) {
    if (reads == kReadsPerTurn) {
      pumping_ = false;  // so that the request counts
      return ResumeReading();
    }
    const IoResult result = stream_.Read(loop_->scratch(), loop_->scratch_size());
    if (result.status == IoStatus::kWouldBlock) return;
    if (result.status == IoStatus::kError) return Close();
    if (result.status == IoStatus::kEof) return session_->OnEof();
    session_->OnBytes({loop_->scratch(), result.bytes});
  }
}

void ServerConnection::ResumeReading() {
  if (pumping_ || resume_scheduled_ || closed_) return;
  resume_scheduled_ = true;
  loop_->Defer([self = shared_from_this()] {
    self->resume_scheduled_ = false;
    self->Guard([&] { self->Pump(); });
  });
}

void ServerConnection::GiveAway() {
  if (!std::exchange(given_away_, true)) ++core().given_away;
}

void ServerConnection::Send(std::string_view head, std::string_view body) {
  if (closed_) return;
  if (!out_.empty() || flushing_) {
    out_.Append(head);
    if (!body.empty()) out_.Append(std::string(body));
    return Flush();
  }
  write_progress_at_ = loop_->now();
  std::string_view first = head;
  std::string& joined = shard_->head_buffer();
  if (!body.empty() && head.data() == joined.data() &&
      head.size() + body.size() <= WriteQueue::kRecord) {
    joined.append(body);
    first = joined;
    body = {};
  }
  const IoResult result = stream_.Write(first.data(), first.size());
  if (result.status == IoStatus::kError) return Close();
  const std::size_t sent = result.status == IoStatus::kOk ? result.bytes : 0;
  if (sent == first.size() && body.empty()) return session_->OnWritten();
  if (sent < first.size()) out_.Append(first.substr(sent));
  if (!body.empty()) out_.Append(std::string(body));
  Flush();
}

void ServerConnection::Flush() {
  if (flushing_ || closed_) return;
  flushing_ = true;
  bool progress = false;
  while (!out_.empty()) {
    const auto record = out_.NextRecord(shard_->record_buffer());
    const IoResult result = stream_.Write(record.data(), record.size());
    if (result.status == IoStatus::kWouldBlock) break;
    if (result.status != IoStatus::kOk) {
      flushing_ = false;
      return Close();
    }
    out_.Consume(result.bytes);
    progress = true;
    // HTTP/2 makes its next frames only when the last ones have left.
    if (out_.empty() && session_) session_->OnWritten();
    if (closed_) return;
  }
  flushing_ = false;
  if (progress || out_.empty()) write_progress_at_ = loop_->now();
  if (progress && session_ && !out_.empty()) session_->OnWritten();
  if (out_.empty() && close_when_flushed_) FinishClosing();
}

void ServerConnection::CloseWhenFlushed(bool unread_input) {
  if (closed_ || close_when_flushed_) return;
  close_when_flushed_ = true;
  unread_input_ = unread_input;
  if (out_.empty() && !flushing_) FinishClosing();
}

void ServerConnection::FinishClosing() {
  stream_.ShutdownWrite();
  if (!unread_input_) return Close();
  lingering_ = true;
  linger_until_ = loop_->now() + kLinger;
  if (!pumping_) {
    loop_->Defer([self = shared_from_this()] { self->Guard([&] { self->Discard(); }); });
  }
}

void ServerConnection::Discard() {
  while (!closed_) {
    const IoResult result = stream_.Receive(loop_->scratch(), loop_->scratch_size());
    if (result.status == IoStatus::kWouldBlock) return;
    if (result.status != IoStatus::kOk || loop_->now() > linger_until_) return Close();
  }
}

void ServerConnection::Close() {
  if (closed_) return;
  const auto self = shared_from_this();
  // The session may be on the stack below us. First what may fail, so that it can be tried again.
  if (session_) loop_->Defer([self] { self->session_.reset(); });
  closed_ = true;
  if (given_away_) --core().given_away;
  if (token_) loop_->Remove(*token_, stream_.fd());
  stream_.Close();
  shard_->Forget(self);
  base::UnlessMemoryRunsOut([this] { MarkKnown(); });  // it counts no more
  if (session_) base::UnlessMemoryRunsOut([this] { session_->OnGone(); });
}

void ServerConnection::Tick(base::SteadyTime now) {
  if (closed_) return;
  if (doomed_) return Close();
  if (lingering_) {
    if (now > linger_until_) Close();
    return;
  }
  const auto& options = core().options;
  if (!session_) {
    if (now - connected_at_ > options.header_timeout) Close();
    return;
  }
  const bool is_stuck = !out_.empty() && now - write_progress_at_ > options.write_timeout;
  if (is_stuck && !session_->may_stall()) return Close();
  session_->OnTick(now);
}

void ServerConnection::Drain() {
  if (closed_ || lingering_) return;
  if (!session_) return Close();
  session_->Drain();
}

void ServerShard::Adopt(int fd) {
  std::shared_ptr<ServerConnection> connection;
  const bool made = base::UnlessMemoryRunsOut([&] {
    connection = std::make_shared<ServerConnection>(shared_from_this(), fd, core_->Tls());
  });
  if (!made) close(fd);  // from here on it is the connection's
  bool adopted = false;
  base::UnlessMemoryRunsOut([&] {
    if (!made || closed_ || core_->draining || !connection->Enter()) return;
    adopted = connections_.insert(connection).second;
  });
  if (adopted) {
    connection->Guard([&] { connection->Begin(); });
    return EnsureTick();
  }
  if (made) base::UnlessMemoryRunsOut([&] { connection->MarkKnown(); });
  core_->connections.fetch_sub(1);
}

void ServerShard::Forget(const std::shared_ptr<ServerConnection>& connection) {
  if (connections_.erase(connection) > 0) core_->connections.fetch_sub(1);
}

void ServerShard::Drain() {
  const std::vector<std::shared_ptr<ServerConnection>> all(connections_.begin(),
                                                           connections_.end());
  for (const auto& connection : all) connection->Guard([&] { connection->Drain(); });
}

void ServerShard::CloseAll() {
  closed_ = true;
  const std::vector<std::shared_ptr<ServerConnection>> all(connections_.begin(),
                                                           connections_.end());
  for (const auto& connection : all) connection->Guard([&] { connection->Close(); });
}

void ServerShard::AwaitBody(const std::shared_ptr<ServerConnection>& connection) {
  // The timer first: what waits without one would wait for ever.
  if (awaiting_bodies_.empty()) {
    loop_->At(loop_->now() + kBodyPatience, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      for (const auto& waiting : std::exchange(self->awaiting_bodies_, {})) {
        const auto each = waiting.lock();
        if (!each) continue;
        each->Guard([&] {
          if (!each->closed() && each->session() != nullptr) each->session()->HandOverHeads();
        });
      }
    });
  }
  awaiting_bodies_.push_back(connection);
}

void ServerShard::ScheduleTick() {
  if (ticking_ || connections_.empty()) return;
  // Deadlines are kept to within a tick; short ones (tests have them) make it shorter.
  const auto shortest = std::min({core_->options.header_timeout, core_->options.body_timeout,
                                  core_->options.idle_timeout, core_->options.write_timeout});
  const auto period =
      std::clamp(shortest / 4, std::chrono::milliseconds(5), std::chrono::milliseconds(kTick));
  loop_->At(loop_->now() + period, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->Tick();
  });
  ticking_ = true;
}

void ServerShard::EnsureTick() {
  if (!ticking_) base::UnlessMemoryRunsOut([this] { ScheduleTick(); });
}

void ServerShard::Tick() {
  ticking_ = false;
  EnsureTick();
  const auto now = loop_->now();
  const std::vector<std::shared_ptr<ServerConnection>> all(connections_.begin(),
                                                           connections_.end());
  for (const auto& connection : all) connection->Guard([&] { connection->Tick(now); });
}

}  // namespace portcullis::net::internal
