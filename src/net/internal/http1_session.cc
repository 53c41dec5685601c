// SPDX-License-Identifier: Apache-2.0

#include "net/internal/http1_session.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "golang/url.h"

namespace portcullis::net::internal {
namespace {

constexpr std::size_t kDefaultBodyLimit = 3 << 20;
// Not more is set aside before bytes have come, whatever Content-Length says.
constexpr std::size_t kMaxReserve = 256 << 10;
// A body up to this size is waited for a moment before the head is handed over (bodies_on_demand).
constexpr std::size_t kSmallBody = 64 << 10;

// As Go's server: what else may be in a Host field makes it malformed.
constexpr std::string_view kHostCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!$%&()*+,-.:;='[]_~";

// Whether the head that begins `bytes` is of a version that is none of HTTP/1.
bool IsOfAnotherVersion(std::string_view bytes) {
  std::string_view line = bytes.substr(0, bytes.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const std::string_view version = line.substr(line.rfind(' ') + 1);
  return version.size() == 8 && version.starts_with("HTTP/") && is_digit(version[5]) &&
         version[5] != '1' && version[6] == '.' && is_digit(version[7]);
}

// Whether Go can make a URL of it.
bool IsTarget(std::string_view target) {
  if (!target.starts_with('/')) return target == "*" || golang::ParseRequestUri(target).ok();
  const std::string_view path = target.substr(0, target.find('?'));
  return path.find('%') == path.npos || golang::PathUnescape(path).ok();
}

}  // namespace

void Http1Session::OnBytes(std::string_view bytes) {
  if (web_socket_) return ReadFrames(bytes);
  if (tunnel_) return TakeFromTunnel(bytes);
  if (pending_.empty()) {
    pending_.assign(Process(bytes));
    return;
  }
  std::string all;
  all.swap(pending_);
  all.append(bytes);
  const auto rest = Process(all);
  // A head that trickles in is not copied for every piece.
  if (rest.size() == all.size()) {
    pending_.swap(all);
  } else {
    pending_.assign(rest);
  }
}

// Returns what is left over.
std::string_view Http1Session::Process(std::string_view bytes) {
  while (!bytes.empty() && WantsBytes()) {
    if (web_socket_) {
      ReadFrames(bytes);
      return {};
    }
    if (tunnel_) {
      TakeFromTunnel(bytes);
      return {};
    }
    if (!parser_) {
      // As Go, which does not skip empty lines before a request (RFC 9112 §2.2 would have it).
      if (bytes.front() == '\r' || bytes.front() == '\n') {
        Refuse(400, "");
        return {};
      }
      BeginMessage();
    }
    std::size_t consumed = 0;
    const std::string_view unread = bytes;
    const auto result = parser_->Feed(bytes, consumed);
    bytes.remove_prefix(std::min(consumed, bytes.size()));
    switch (result) {
      case Http1Parser::State::kDone:
        keep_alive_ = parser_->keep_alive();
        BodyDone();
        break;
      case Http1Parser::State::kNeedMore:
        if (state_ == State::kReading && parser_->head_done() && !drops_body_ &&
            connection_.core().options.bodies_on_demand) {
          AwaitBody();
        }
        return bytes;
      case Http1Parser::State::kStopped:
        if (refuse_status_ != 0) {
          Refuse(refuse_status_, refuse_detail_);
          return {};
        }
        // The body is too large, or none: the handler answers, and then the connection ends.
        keep_alive_ = false;
        BodyDone();
        break;
      case Http1Parser::State::kHeaderTooLarge:
        Refuse(431, "");
        return {};
      case Http1Parser::State::kMalformed:
        if (state_ != State::kReading || drops_body_) {
          connection_.Close();
          return {};
        }
        if (!parser_->head_done() && IsOfAnotherVersion(unread)) {
          Refuse(505, "unsupported protocol version");
        } else {
          Refuse(400, "");
        }
        return {};
    }
    if (connection_.closed()) return {};
  }
  return state_ == State::kClosing ? std::string_view() : bytes;
}

// The head is complete and the body is not: it is on its way, or the handler has to ask for it.
void Http1Session::AwaitBody() {
  const std::int64_t length = parser_->content_length();
  const bool small =
      length < 0 ? body_.size() < kSmallBody : static_cast<std::size_t>(length) <= kSmallBody;
  if (!small || expects_continue_) return Deliver();
  if (std::exchange(awaits_body_, true)) return;
  connection_.shard().AwaitBody(connection_.shared_from_this());
}

void Http1Session::HandOverHeads() {
  if (awaits_body_ && state_ == State::kReading && parser_) Deliver();
}

// The message has been read, or as much of it as may be.
void Http1Session::BodyDone() {
  const bool rest_unread = body_too_large_ || ignores_encoding_;
  if (!rest_unread) parser_.reset();
  if (drops_body_) {
    drops_body_ = false;
    return;
  }
  if (state_ == State::kReading) return Deliver();
  reads_body_ = false;
  const auto exchange = current_.lock();
  if (!exchange) return;
  if (body_too_large_) {
    std::string().swap(body_);
    return exchange->EndBody(BodyRead::kTooLarge);
  }
  exchange->SetBody(std::move(body_));
  std::string().swap(body_);
}

void Http1Session::ReadBody(ServerExchange& exchange) {
  if (!IsCurrent(exchange) || exchange.body_complete() || !exchange.wants_body() || !parser_)
    return;
  const std::int64_t length = parser_->content_length();
  const std::size_t size = length < 0 ? body_limit_ : static_cast<std::size_t>(length);
  if (!exchange.ReserveBody(size)) return;
  body_.reserve(size);
  reads_body_ = true;
  Continue();
  if (!connection_.closed()) connection_.ResumeReading();
}

void Http1Session::Continue() {
  if (std::exchange(expects_continue_, false)) connection_.Send("HTTP/1.1 100 Continue\r\n\r\n");
}

void Http1Session::BeginMessage() {
  parser_ = Http1Parser::Create(Http1Parser::Kind::kRequest, *this,
                                connection_.core().options.max_header_bytes);
  if (!first_message_) since_ = connection_.loop().now();
  request_ = {};
  hosts_ = 0;
  lengths_plain_ = true;
  ignores_encoding_ = false;
  refuse_status_ = 0;
  std::string().swap(body_);
  body_read_ = 0;
  body_too_large_ = false;
  expects_continue_ = false;
  awaits_body_ = false;
}

void Http1Session::OnRequestLine(std::string_view method, std::string_view target, int version) {
  request_.method = method;
  request_.target = target;
  version_ = version;
  is_head_ = method == "HEAD";
  request_.headers.Reserve(12);
}

void Http1Session::OnField(std::string_view name, std::string_view value) {
  if (base::EqualsIgnoreCase(name, "Host")) {
    ++hosts_;
    request_.authority = value;
    return;
  }
  if (name.size() == 14 && base::EqualsIgnoreCase(name, "Content-Length")) {
    // The parser would take "67, 67" for 67.
    lengths_plain_ = lengths_plain_ && value.find_first_not_of("0123456789") == value.npos;
  }
  request_.headers.Add(name, value);
}

bool Http1Session::OnHead() {
  const auto refuse = [this](int status, std::string_view detail) {
    refuse_status_ = status;
    refuse_detail_ = detail;
    return false;
  };
  const bool is_target = request_.method == "CONNECT" || IsTarget(request_.target);
  if (hosts_ > 1 || !lengths_plain_ || !is_target) return refuse(400, "");
  const bool is_encoded = request_.headers.Has("Transfer-Encoding");
  if (is_encoded && version_ < 11) {
    // Go does not know it in HTTP/1.0. What follows is then no body, and whatever it is, it is not
    // read: a proxy in between may see it otherwise.
    ignores_encoding_ = true;
    return false;
  }
  if (is_encoded && !base::EqualsIgnoreCase(request_.headers.Get("Transfer-Encoding"), "chunked")) {
    return refuse(501, "Unsupported transfer encoding");
  }
  if (hosts_ == 0 && version_ >= 11) return refuse(400, "missing required Host header");
  if (request_.authority.find_first_not_of(kHostCharacters) != std::string::npos) {
    return refuse(400, "malformed Host header");
  }
  // RFC 9112 §3.2.2: an absolute target carries the host.
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!std::string_view(request_.target).starts_with(scheme)) continue;
    const auto slash = request_.target.find('/', scheme.size());
    request_.authority = request_.target.substr(scheme.size(), slash - scheme.size());
    request_.target = slash == std::string::npos ? "/" : request_.target.substr(slash);
  }
  const auto& limit = connection_.core().options.max_body_bytes;
  body_limit_ = limit ? limit(request_) : kDefaultBodyLimit;
  since_ = connection_.loop().now();
  const std::int64_t length = parser_->content_length();
  if (length > 0 && static_cast<std::size_t>(length) > body_limit_) {
    body_too_large_ = true;
    return false;
  }
  const bool on_demand = connection_.core().options.bodies_on_demand;
  if (length > 0) {
    body_.reserve(std::min(static_cast<std::size_t>(length), on_demand ? kSmallBody : kMaxReserve));
  }
  const auto expected = request_.headers.Get("Expect");
  if (!expected.empty()) {
    if (!request_.headers.HasToken("Expect", "100-continue")) return refuse(417, "");
    expects_continue_ = (length > 0 || parser_->chunked()) && version_ >= 11;
  }
  if (!on_demand) Continue();
  return true;
}

bool Http1Session::OnBody(std::string_view piece) {
  body_read_ += piece.size();
  if (drops_body_) return body_read_ <= body_limit_;
  if (body_read_ > body_limit_) {
    body_too_large_ = true;
    return false;
  }
  body_.append(piece);
  return true;
}

void Http1Session::Deliver() {
  state_ = State::kHandling;
  const bool complete = !parser_ || body_too_large_ || ignores_encoding_;
  if (!complete) keep_alive_ = parser_->keep_alive();
  first_message_ = false;
  ++exchange_number_;
  unsent_ = 0;
  ServerExchange::Origin origin;
  origin.connection = connection_.shared_from_this();
  origin.stream = exchange_number_;
  origin.protocol = version_ >= 11 ? Protocol::kHttp11 : Protocol::kHttp10;
  origin.body_too_large = body_too_large_;
  origin.body_complete = complete;
  origin.received_at = since_;
  if (origin.body_complete) request_.body = std::move(body_);
  auto exchange = std::make_shared<ServerExchange>(std::move(origin), std::move(request_));
  request_ = {};
  current_ = exchange;
  auto& core = connection_.core();
  core.exchanges.fetch_add(1, std::memory_order_relaxed);
  core.Handle(std::move(exchange));
}

// What Go answers below its handlers: a plain text of the status, and the connection ends.
void Http1Session::Refuse(int status, std::string_view detail) {
  state_ = State::kClosing;
  parser_.reset();
  pending_.clear();
  if (status == 417) {  // from Go's server itself, not from its parser: it has no text
    connection_.Send(base::StrCat("HTTP/1.1 417 Expectation Failed\r\nConnection: close\r\nDate: ",
                                  connection_.loop().HttpDate(), "\r\nContent-Length: 0\r\n\r\n"));
    return connection_.CloseWhenFlushed(true);
  }
  std::string line = base::StrCat(std::to_string(status), " ", StatusText(status));
  const bool is_all = status == 501;  // the detail is all that is told, and not in the first line
  if (!detail.empty() && !is_all) line += base::StrCat(": ", detail);
  connection_.Send(base::StrCat("HTTP/1.1 ", line,
                                "\r\nContent-Type: text/plain; charset=utf-8\r\n"
                                "Connection: close\r\n\r\n",
                                is_all ? detail : line));
  connection_.CloseWhenFlushed(true);
}

void Http1Session::OnEof() {
  if (web_socket_) return EndWebSocket({});
  // A client may stop sending and wait for its answer; there is none to wait for here.
  connection_.Close();
}

void Http1Session::OnGone() {
  if (state_ == State::kReading || state_ == State::kClosing) return;
  state_ = State::kClosing;
  reads_body_ = false;
  connection_.core().exchanges.fetch_sub(1, std::memory_order_relaxed);
  if (const auto exchange = current_.lock()) exchange->PeerGone();
  flushing_.reset();
}

void Http1Session::OnWritten() {
  if (state_ == State::kFlushing && connection_.out().empty()) return FinishMessage();
  if (web_socket_ && connection_.out().empty()) connection_.ResumeReading();
  if (unsent_ == 0) return;
  const std::size_t waiting = std::min(connection_.out().bytes(), unsent_);
  const std::size_t released = unsent_ - waiting;
  unsent_ = waiting;
  if (released == 0) return;
  if (const auto exchange = current_.lock()) exchange->Released(released);
}

void Http1Session::OnTick(base::SteadyTime now) {
  if (state_ == State::kFlushing) {
    if (now > flushing_->deadline()) connection_.Close();
    return;
  }
  if (state_ == State::kHandling && parser_) {
    const auto exchange = current_.lock();
    if (exchange && exchange->BodyIsOverdue(now)) {
      reads_body_ = false;
      keep_alive_ = false;
      std::string().swap(body_);
      exchange->EndOverdueBody();
    }
    return;
  }
  if (state_ != State::kReading) return;
  const auto& options = connection_.core().options;
  if (parser_ && parser_->head_done()) {
    if (now - since_ <= options.body_timeout) return;
    if (drops_body_) return connection_.Close();
    Refuse(408, "");
    return;
  }
  const bool waiting_for_head = first_message_ || parser_ != nullptr;
  if (now - since_ > (waiting_for_head ? options.header_timeout : options.idle_timeout)) {
    connection_.Close();
  }
}

void Http1Session::Drain() {
  draining_ = true;
  if (idle()) {
    state_ = State::kClosing;
    connection_.CloseWhenFlushed(false);
  }
}

std::unique_ptr<Session> MakeHttp1Session(ServerConnection& connection) {
  return std::make_unique<Http1Session>(connection);
}

}  // namespace portcullis::net::internal
