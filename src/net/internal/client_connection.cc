#include "net/internal/client_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/gotext.h"
#include "base/strings.h"
#include "net/internal/gzip.h"
#include "net/internal/malformed.h"
#include "net/internal/tls_context.h"

namespace portcullis::net::internal {
namespace {

constexpr std::string_view kDeadlineExceeded = "context deadline exceeded";
constexpr std::string_view kCanceled = "context canceled";
constexpr std::size_t kMaxProxyAnswer = 64 << 10;
constexpr std::string_view kBroken = "net/http: HTTP/1.x transport connection broken: ";

// Methods whose repetition does no harm, by Go's judgement.
bool IsReplayable(const ClientRequest& request) {
  return request.method == "GET" || request.method == "HEAD" || request.method == "OPTIONS" ||
         request.method == "TRACE" || request.headers.Has("Idempotency-Key");
}

std::string RequestHead(ClientCall& call) {
  const ClientRequest& request = call.request;
  std::string head = base::StrCat(
      request.method, " ", call.url.Target(), " HTTP/1.1\r\nHost: ",
      request.headers.Has("Host") ? request.headers.Get("Host") : call.url.Authority(), "\r\n");
  for (const auto& field : request.headers) {
    if (base::EqualsIgnoreCase(field.name, "Host")) continue;
    head += base::StrCat(field.name, ": ", field.value, "\r\n");
  }
  const bool may_have_body = request.method != "GET" && request.method != "HEAD";
  if (request.body || may_have_body) {
    const auto size = request.body ? request.body->size() : 0;
    head += base::StrCat("Content-Length: ", std::to_string(size), "\r\n");
  }
  call.wants_gzip = !request.headers.Has("Accept-Encoding") && !request.headers.Has("Range") &&
                    request.method != "HEAD" && !request.on_data;
  if (call.wants_gzip) head += "Accept-Encoding: gzip\r\n";
  return head + "\r\n";
}

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

void ClientConnection::Connect(std::shared_ptr<ClientCall> call, const std::string& target) {
  call_ = std::move(call);
  call_->SetConnection(weak_from_this());
  stage_deadline_ = loop_->now() + core_->options().dial_timeout;
  ArmTimer();
  const auto split = SplitHostPort(target);
  const auto port = split.ok() ? base::ParseInt(split->second) : std::nullopt;
  if (!port || *port < 0 || *port > 65535) {
    return Fail(CallPhase::kResolve,
                base::StrCat("dial tcp: ",
                             split.ok() ? base::StrCat("address ", split->second, ": invalid port")
                                        : split.status().message()));
  }
  Resolution literal;
  literal.addresses = Resolver::Literal(split->first, static_cast<int>(*port));
  if (!literal.addresses.empty()) return OnResolved(std::move(literal));
  core_->resolver().Resolve(split->first, static_cast<int>(*port),
                            [weak = weak_from_this(), loop = loop_](Resolution resolution) {
                              loop->Post([weak, found = std::move(resolution)]() mutable {
                                if (auto self = weak.lock()) self->OnResolved(std::move(found));
                              });
                            });
}

void ClientConnection::OnResolved(Resolution resolution) {
  if (state_ != State::kResolving) return;
  if (resolution.addresses.empty()) {
    return Fail(CallPhase::kResolve, DialError(base::StrCat("dial tcp: ", resolution.error)));
  }
  addresses_ = std::move(resolution.addresses);
  state_ = State::kConnecting;
  TryNextAddress();
}

void ClientConnection::TryNextAddress() {
  if (stream_) {
    loop_->Remove(token_, stream_->fd());
    stream_.reset();
  }
  while (next_address_ < addresses_.size()) {
    const SocketAddress& address = addresses_[next_address_++];
    address_ = address.text;
    const int fd = socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int result =
        fd < 0 ? -1
               : connect(fd, reinterpret_cast<const sockaddr*>(&address.storage), address.size);
    if (result != 0 && errno != EINPROGRESS) {
      if (first_dial_error_.empty()) {
        first_dial_error_ = base::StrCat("dial tcp ", address_, ": ",
                                         fd < 0 ? "socket: " : "connect: ", ErrnoText(errno));
      }
      if (fd >= 0) close(fd);
      continue;
    }
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    stream_ = std::make_unique<Stream>(fd);
    token_ = loop_->Add(fd, *this);
    return;
  }
  Fail(CallPhase::kConnect, DialError(first_dial_error_));
}

void ClientConnection::OnConnected() {
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(stream_->fd(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) {
    if (first_dial_error_.empty()) {
      first_dial_error_ = base::StrCat("dial tcp ", address_, ": connect: ", ErrnoText(error));
    }
    return TryNextAddress();
  }
  call_->result.address = address_;
  addresses_.clear();
  if (!tls_) {
    state_ = State::kBusy;
    stage_deadline_ = {};
    ArmTimer();
    return SendRequest();
  }
  if (proxy_) return AskProxy();
  StartHandshake();
}

std::string ClientConnection::DialError(std::string_view text) const {
  return base::StrCat(proxy_ ? "proxyconnect tcp: " : "", text);
}

void ClientConnection::AskProxy() {
  state_ = State::kProxying;
  stage_deadline_ = {};
  ArmTimer();
  const std::string target = call_->url.HostPort();
  std::string head = base::StrCat("CONNECT ", target, " HTTP/1.1\r\nHost: ", target, "\r\n");
  if (!proxy_->userinfo.empty()) {
    const auto user = PathUnescape(proxy_->userinfo);
    head += base::StrCat("Proxy-Authorization: Basic ",
                         base::Base64Encode(user.ok() ? *user : proxy_->userinfo), "\r\n");
  }
  head += "\r\n";
  const IoResult result = stream_->Write(head.data(), head.size());
  // It fits into the empty buffer of a new connection, unless that is broken.
  if (result.status != IoStatus::kOk || result.bytes != head.size()) {
    return Fail(CallPhase::kConnect, stream_->error());
  }
  ContinueProxying();
}

void ClientConnection::ContinueProxying() {
  while (state_ == State::kProxying) {
    const IoResult result = stream_->Read(loop_->scratch(), loop_->scratch_size());
    if (result.status == IoStatus::kWouldBlock) return;
    if (result.status != IoStatus::kOk) {
      return Fail(CallPhase::kConnect,
                  result.status == IoStatus::kEof ? "unexpected EOF" : stream_->error());
    }
    proxy_answer_.append(loop_->scratch(), result.bytes);
    const auto end = proxy_answer_.find("\r\n\r\n");
    if (end != std::string::npos) return OnProxyAnswer(proxy_answer_);
    if (proxy_answer_.size() > kMaxProxyAnswer) {
      return Fail(CallPhase::kConnect, "net/http: proxy response headers exceeded limit");
    }
  }
}

void ClientConnection::OnProxyAnswer(std::string_view head) {
  const std::string_view line = head.substr(0, head.find('\r'));
  const auto status = base::Cut(line, " ");
  const auto text = status ? base::Cut(status->second, " ") : std::nullopt;
  if (!status || !status->first.starts_with("HTTP/")) {
    return Fail(CallPhase::kConnect, MalformedHeadText(line, FieldsOf(head)));
  }
  if ((text ? text->first : status->second) != "200") {
    return Fail(CallPhase::kConnect,
                text ? std::string(text->second) : std::string("unknown status code"));
  }
  StartHandshake();
}

void ClientConnection::StartHandshake() {
  state_ = State::kHandshaking;
  stage_deadline_ = loop_->now() + core_->options().handshake_timeout;
  ArmTimer();
  const auto& context = static_cast<const ClientTlsContext&>(*tls_);
  const std::string& host = call_->url.host;
  stream_->StartTls(context.NewSession(host), context.Check(host));
  ContinueHandshake();
}

void ClientConnection::ContinueHandshake() {
  const IoStatus status = stream_->Handshake();
  if (status == IoStatus::kWouldBlock) return;
  if (status != IoStatus::kOk) {
    const bool http = stream_->first_bytes().starts_with("HTTP/");
    return Fail(CallPhase::kHandshake,
                http ? "http: server gave HTTP response to HTTPS client" : stream_->error());
  }
  state_ = State::kBusy;
  stage_deadline_ = {};
  ArmTimer();
  SendRequest();
}

void ClientConnection::Reuse(std::shared_ptr<ClientCall> call) {
  char byte = 0;
  // Whatever is readable now, an end or unasked-for data, makes the connection useless.
  const bool alive = state_ == State::kIdle &&
                     recv(stream_->fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
  if (!alive) {
    if (state_ == State::kIdle) Close();
    return core_->Dispatch(call);
  }
  call_ = std::move(call);
  reused_ = true;
  state_ = State::kBusy;
  call_->result.address = address_;
  call_->result.reused_connection = true;
  call_->SetConnection(weak_from_this());
  ArmTimer();
  SendRequest();
}

void ClientConnection::SendRequest() {
  if (tls_) {
    call_->result.certificate_without_san = stream_->peer_check().without_san;
    call_->result.certificate_with_sha1 = stream_->peer_check().with_sha1;
  }
  call_->result.reused_connection = reused_;
  sent_before_ = stream_->bytes_sent();
  write_error_.clear();
  any_byte_ = false;
  too_large_ = false;
  first_line_.clear();
  response_ = {};
  BeginParser();
  out_.Append(RequestHead(*call_));
  if (call_->request.body && !call_->request.body->empty()) out_.Append(call_->request.body);
  Flush();
  if (state_ == State::kBusy) ReadSome();
}

void ClientConnection::BeginParser() {
  parser_ = std::make_unique<Http1Parser>(Http1Parser::Kind::kResponse, *this,
                                          core_->options().max_header_bytes);
  if (call_->request.method == "HEAD") parser_->ExpectNoBody();
}

void ClientConnection::Flush() {
  while (!out_.empty() && write_error_.empty()) {
    const auto front = out_.Front();
    const IoResult result = stream_->Write(front.data(), front.size());
    if (result.status == IoStatus::kWouldBlock) return;
    if (result.status != IoStatus::kOk) {
      // The server may have answered before it hung up: what it said is read first.
      write_error_ = stream_->error();
      return;
    }
    out_.Consume(result.bytes);
  }
}

void ClientConnection::OnReady(Readiness readiness) {
  const auto self = shared_from_this();
  if (readiness.readable || readiness.hangup) stream_->SetReadable(readiness.hangup);
  if (readiness.writable) stream_->SetWritable();
  switch (state_) {
    case State::kConnecting:
      if (readiness.writable || readiness.broken) OnConnected();
      break;
    case State::kProxying:
      ContinueProxying();
      break;
    case State::kHandshaking:
      ContinueHandshake();
      break;
    case State::kBusy:
      Flush();
      ReadSome();
      break;
    case State::kIdle:
      if (readiness.readable || readiness.hangup || readiness.broken) Close();
      break;
    case State::kResolving:
    case State::kClosed:
      break;
  }
}

void ClientConnection::ReadSome() {
  while (state_ == State::kBusy) {
    const IoResult result = stream_->Read(loop_->scratch(), loop_->scratch_size());
    if (result.status == IoStatus::kWouldBlock) {
      if (!write_error_.empty() && !any_byte_) Fail(CallPhase::kWrite, write_error_);
      return;
    }
    if (result.status == IoStatus::kEof) return OnEndOfStream("EOF");
    if (result.status == IoStatus::kError) return OnEndOfStream(stream_->error());
    any_byte_ = true;
    OnBytes({loop_->scratch(), result.bytes});
  }
}

void ClientConnection::OnBytes(std::string_view bytes) {
  std::string joined;
  if (!pending_.empty()) {
    pending_.append(bytes);
    if (HeadGoesOn(bytes.size())) return;
    joined.swap(pending_);
    bytes = joined;
  }
  if (!parser_->head_done() && first_line_.empty()) {
    first_line_ = bytes.substr(0, std::min<std::size_t>(bytes.find_first_of("\r\n"), 128));
  }
  const std::string_view fed = bytes;
  std::size_t consumed = 0;
  const auto result = parser_->Feed(bytes, consumed);
  bytes.remove_prefix(std::min(consumed, bytes.size()));
  switch (result) {
    case Http1Parser::State::kNeedMore:
      pending_.assign(bytes);
      return;
    case Http1Parser::State::kDone:
      if (response_.status < 200 && response_.status != 101) {
        // An interim answer: the real one follows (RFC 9110 §15.2).
        response_ = {};
        BeginParser();
        if (!bytes.empty()) OnBytes(bytes);
        return;
      }
      pending_.assign(bytes);
      return FinishAnswer();
    case Http1Parser::State::kStopped:
      return Fail(CallPhase::kRead,
                  base::StrCat("response body is larger than ",
                               std::to_string(call_->request.max_response_bytes), " bytes"));
    case Http1Parser::State::kHeaderTooLarge:
      return Fail(
          CallPhase::kFirstByte,
          base::StrCat(kBroken, "net/http: server response headers exceeded ",
                       std::to_string(core_->options().max_header_bytes), " bytes; aborted"));
    case Http1Parser::State::kMalformed:
      if (parser_->head_done()) {
        return Fail(CallPhase::kRead, "invalid byte in chunk length");
      }
      return Fail(CallPhase::kFirstByte,
                  base::StrCat(kBroken, MalformedHeadText(first_line_, FieldsOf(fed))));
  }
}

// Whether a head that is already long still lacks its end after `added` more bytes. The parser
// starts from the front each time, so it is not asked about every piece of megabytes.
bool ClientConnection::HeadGoesOn(std::size_t added) const {
  constexpr std::size_t kShort = 64 << 10;
  if (parser_->head_done() || pending_.size() <= kShort) return false;
  if (pending_.size() > core_->options().max_header_bytes) return false;
  const std::size_t from = pending_.size() - std::min(pending_.size(), added + 3);
  return pending_.find("\n\r\n", from) == std::string::npos &&
         pending_.find("\n\n", from) == std::string::npos;
}

// The status line may have come, and have been taken, before.
std::string_view ClientConnection::FieldsOf(std::string_view head) const {
  if (!head.starts_with(first_line_)) return head;
  const auto end = head.find('\n');
  return end == std::string_view::npos ? std::string_view() : head.substr(end + 1);
}

void ClientConnection::OnStatusLine(int status, std::string_view reason, int version) {
  (void)reason, (void)version;
  response_.status = status;
}

void ClientConnection::OnField(std::string_view name, std::string_view value) {
  response_.headers.Add(name, value);
}

bool ClientConnection::OnHead() {
  constexpr std::int64_t kMaxReserve = 1 << 20;
  const auto length = parser_->content_length();
  if (length > 0 && !call_->request.on_data) {
    response_.body.reserve(static_cast<std::size_t>(std::min(length, kMaxReserve)));
  }
  return true;
}

bool ClientConnection::OnBody(std::string_view piece) {
  if (call_->request.on_data) {
    call_->request.on_data({response_.status, response_.headers}, piece);
    return true;
  }
  const auto limit = call_->request.max_response_bytes;
  if (limit > 0 && response_.body.size() + piece.size() > limit) {
    too_large_ = true;
    return false;
  }
  response_.body.append(piece);
  return true;
}

CallPhase ClientConnection::ReadPhase() const {
  return parser_ && parser_->head_done() ? CallPhase::kRead : CallPhase::kFirstByte;
}

void ClientConnection::OnEndOfStream(const std::string& error) {
  const bool eof = error == "EOF";
  if (any_byte_ && eof) {
    if (parser_->head_done() && parser_->FeedEof() == Http1Parser::State::kDone) {
      return FinishAnswer();
    }
    const bool in_body = parser_->head_done();
    return Fail(ReadPhase(), in_body ? "unexpected EOF" : base::StrCat(kBroken, "unexpected EOF"));
  }
  if (any_byte_) return Fail(ReadPhase(), error);
  const bool nothing_sent = stream_->bytes_sent() == sent_before_;
  if (reused_ && (nothing_sent || IsReplayable(call_->request))) {
    // The server closed the kept connection just as it was taken up again.
    auto call = std::move(call_);
    call_.reset();
    call->result = {};
    Close();
    return core_->Dispatch(call);
  }
  if (error.starts_with("remote error: tls:")) return Fail(CallPhase::kHandshake, error);
  if (!write_error_.empty()) return Fail(CallPhase::kWrite, write_error_);
  Fail(CallPhase::kFirstByte, error);
}

void ClientConnection::FinishAnswer() {
  const bool keep = parser_->keep_alive() && out_.empty() && write_error_.empty() &&
                    pending_.empty() && !call_->request.headers.HasToken("Connection", "close");
  parser_.reset();
  pending_.clear();
  auto call = std::move(call_);
  call_.reset();
  Response response = std::move(response_);
  response_ = {};
  loop_->Cancel(timer_);
  if (keep) {
    BecomeIdle();
  } else {
    Close();
  }
  if (call->wants_gzip &&
      base::EqualsIgnoreCase(response.headers.Get("Content-Encoding"), "gzip")) {
    auto plain = Gunzip(response.body, call->request.max_response_bytes);
    if (!plain.ok()) {
      call->result.response = std::move(response);
      return call->Fail(CallPhase::kDecode, plain.status().message());
    }
    response.body = std::move(*plain);
    response.headers.Remove("Content-Encoding");
    response.headers.Remove("Content-Length");
  }
  if (call->FollowRedirect(response)) return;
  call->Complete(std::move(response));
}

void ClientConnection::BecomeIdle() {
  state_ = State::kIdle;
  idle_since_ = loop_->now();
  if (idle_timer_.id == 0) OnIdleTimer();
  if (!core_->Release(key_, shared_from_this())) Close();
}

void ClientConnection::OnIdleTimer() {
  idle_timer_ = {};
  if (state_ == State::kClosed) return;
  const auto end = idle_since_ + core_->options().idle_timeout;
  if (state_ == State::kIdle && loop_->now() >= end) return Close();
  const auto next = state_ == State::kIdle ? end : loop_->now() + core_->options().idle_timeout;
  idle_timer_ = loop_->At(next, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->OnIdleTimer();
  });
}

void ClientConnection::ArmTimer() {
  loop_->Cancel(timer_);
  auto time = call_->deadline;
  if (stage_deadline_ != base::SteadyTime{}) time = std::min(time, stage_deadline_);
  timer_ = loop_->At(time, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->OnTimer();
  });
}

void ClientConnection::OnTimer() {
  if (!call_) return;
  const bool dialling = state_ == State::kResolving || state_ == State::kConnecting;
  const CallPhase phase = state_ == State::kResolving              ? CallPhase::kResolve
                          : dialling || state_ == State::kProxying ? CallPhase::kConnect
                          : state_ == State::kHandshaking          ? CallPhase::kHandshake
                          : !out_.empty()                          ? CallPhase::kWrite
                                                                   : ReadPhase();
  if (loop_->now() >= call_->deadline) return Fail(phase, std::string(kDeadlineExceeded));
  Fail(phase, dialling ? DialError(base::StrCat("dial tcp ", address_, ": i/o timeout"))
                       : "net/http: TLS handshake timeout");
}

void ClientConnection::CancelCall(const ClientCall& call) {
  if (call_.get() == &call) Fail(ReadPhase(), std::string(kCanceled));
}

void ClientConnection::Fail(CallPhase phase, std::string cause) {
  auto call = std::move(call_);
  call_.reset();
  if (phase == CallPhase::kRead && call) call->result.response = std::move(response_);
  Close();
  if (call) call->Fail(phase, std::move(cause));
}

void ClientConnection::CloseIfIdle() {
  if (state_ == State::kIdle) Close();
}

void ClientConnection::Abort() {
  if (call_) return Fail(ReadPhase(), std::string(kCanceled));
  Close();
}

void ClientConnection::Close() {
  if (state_ == State::kClosed) return;
  const auto self = shared_from_this();
  state_ = State::kClosed;
  loop_->Cancel(timer_);
  loop_->Cancel(idle_timer_);
  if (stream_) {
    loop_->Remove(token_, stream_->fd());
    if (tls_) stream_->ShutdownWrite();
    // The stream may be in use below us on the stack.
    loop_->Defer([self] { self->stream_.reset(); });
  }
  core_->Forget(key_, self);
}

void ClientCore::Dispatch(const std::shared_ptr<ClientCall>& call) {
  const bool secure = call->url.scheme == "https";
  std::shared_ptr<const ClientTls> tls;
  if (secure) tls = call->request.tls ? call->request.tls : DefaultTls();
  std::optional<Url> proxy;
  if (options_.proxies) proxy = options_.proxies->For(call->url);
  PoolKey key{base::StrCat(call->url.scheme, "://", call->url.HostPort()), tls.get(),
              call->request.resolve != nullptr && !proxy};
  if (auto connection = TakeIdle(key)) {
    auto& loop = connection->loop();
    if (!loop.Post([connection, call] { connection->Reuse(call); })) {
      call->Fail(CallPhase::kConnect, std::string(kCanceled));
    }
    return;
  }
  std::string target = call->url.HostPort();
  if (proxy) {
    if (proxy->scheme != "http") {
      return call->Fail(CallPhase::kConnect,
                        base::StrCat("proxyconnect tcp: unsupported proxy scheme ",
                                     base::GoQuote(proxy->scheme)));
    }
    target = proxy->HostPort();
  } else if (call->request.resolve) {
    auto resolved = call->request.resolve(target);
    if (!resolved.ok()) return call->Fail(CallPhase::kResolve, resolved.status().message());
    target = std::move(*resolved);
  }
  const auto loop = threads_.Next();
  auto connection = std::make_shared<ClientConnection>(shared_from_this(), loop, std::move(key),
                                                       std::move(tls), std::move(proxy));
  bool refused = false;
  {
    base::MutexLock lock(mutex_);
    refused = closed_;
    if (!closed_) {
      all_.insert(connection);
      ++counters_.connections_opened;
    }
  }
  if (refused) return call->Fail(CallPhase::kConnect, std::string(kCanceled));
  if (!loop->Post([connection, call, target] { connection->Connect(call, target); })) {
    call->Fail(CallPhase::kConnect, std::string(kCanceled));
  }
}

std::shared_ptr<ClientConnection> ClientCore::TakeIdle(const PoolKey& key) {
  base::MutexLock lock(mutex_);
  const auto found = idle_.find(key);
  if (found == idle_.end() || found->second.empty()) return nullptr;
  auto connection = std::move(found->second.back());
  found->second.pop_back();
  if (found->second.empty()) idle_.erase(found);
  --counters_.connections_idle;
  return connection;
}

bool ClientCore::Release(const PoolKey& key, const std::shared_ptr<ClientConnection>& connection) {
  base::MutexLock lock(mutex_);
  if (closed_) return false;
  auto& list = idle_[key];
  if (list.size() >= options_.max_idle_per_host) return false;
  list.push_back(connection);
  ++counters_.connections_idle;
  return true;
}

void ClientCore::Forget(const PoolKey& key, const std::shared_ptr<ClientConnection>& connection) {
  base::MutexLock lock(mutex_);
  all_.erase(connection);
  const auto found = idle_.find(key);
  if (found == idle_.end()) return;
  counters_.connections_idle -= std::erase(found->second, connection);
  if (found->second.empty()) idle_.erase(found);
}

void ClientCore::CloseIdle() {
  std::vector<std::shared_ptr<ClientConnection>> idle;
  {
    base::MutexLock lock(mutex_);
    for (auto& [key, list] : idle_) idle.insert(idle.end(), list.begin(), list.end());
  }
  for (auto& connection : idle) {
    connection->loop().RunAndWait([&connection] { connection->CloseIfIdle(); });
  }
}

void ClientCore::CloseAll() {
  std::vector<std::shared_ptr<ClientConnection>> all;
  {
    base::MutexLock lock(mutex_);
    closed_ = true;
    all.assign(all_.begin(), all_.end());
  }
  for (auto& connection : all) {
    connection->loop().RunAndWait([&connection] { connection->Abort(); });
  }
}

std::shared_ptr<const ClientTls> ClientCore::DefaultTls() {
  base::MutexLock lock(mutex_);
  if (!default_tls_) {
    auto made = ClientTls::Create({});
    if (made.ok()) default_tls_ = std::move(*made);
  }
  return default_tls_;
}

ClientCounters ClientCore::counters() const {
  base::MutexLock lock(mutex_);
  return counters_;
}

}  // namespace portcullis::net::internal
