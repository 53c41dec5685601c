// SPDX-License-Identifier: Apache-2.0

// What an HTTP/1.1 connection sends: heads, bodies, chunks, and the end of a message.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "base/strings.h"
#include "net/internal/http1_session.h"

namespace portcullis::net::internal {
namespace {

// As Go: of a body that the handler left unread so much is read and dropped to keep the connection.
constexpr std::size_t kMaxDropped = 256 << 10;

bool HasBody(int status) { return status >= 200 && status != 204 && status != 304; }

void AppendNumber(std::size_t number, int base, std::string& out) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), number, base).ptr;
  out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
}

// A value must not be able to start a line of its own.
void AppendValue(std::string_view value, std::string& out) {
  const auto from = out.size();
  out.append(value);
  // Two searches of one character take a tenth of one that looks for both.
  if (value.find('\r') == value.npos && value.find('\n') == value.npos) return;
  std::replace_if(
      out.begin() + static_cast<std::ptrdiff_t>(from), out.end(),
      [](char c) { return c == '\r' || c == '\n'; }, ' ');
}

}  // namespace

std::string& Http1Session::BuildHead(int status, const Headers& headers,
                                     std::size_t content_length) {
  std::string& head = connection_.shard().head_buffer();
  head.clear();
  head.append(version_ < 11 ? "HTTP/1.0 " : "HTTP/1.1 ");
  AppendNumber(static_cast<std::size_t>(status), 10, head);
  head.push_back(' ');
  head.append(StatusText(status));
  head.append("\r\n");
  bool dated = false;
  bool has_length = false;
  for (const auto& field : headers) {
    const auto is = [&field](std::string_view name) {
      return field.name.size() == name.size() && base::EqualsIgnoreCase(field.name, name);
    };
    if (is("Transfer-Encoding")) continue;
    if (is("Connection")) {
      keep_alive_ = keep_alive_ && !base::EqualsIgnoreCase(field.value, "close");
      continue;
    }
    if (is("Content-Length")) {
      if (!is_head_) continue;
      has_length = true;
    }
    dated = dated || is("Date");
    head.append(field.name);
    head.append(": ");
    AppendValue(field.value, head);
    head.append("\r\n");
  }
  if (!dated) {
    head.append("Date: ");
    head.append(connection_.loop().HttpDate());
    head.append("\r\n");
  }
  // As Go's server: that a HEAD would have no body is not told.
  has_length = has_length || (is_head_ && content_length == 0);
  if (content_length != std::numeric_limits<std::size_t>::max() && HasBody(status) && !has_length) {
    head.append("Content-Length: ");
    AppendNumber(content_length, 10, head);
    head.append("\r\n");
  }
  return head;
}

bool Http1Session::MayDropBody() const {
  const std::int64_t length = parser_->content_length();
  return !body_too_large_ && !ignores_encoding_ && !expects_continue_ && length >= 0 &&
         static_cast<std::size_t>(length) - body_read_ <= kMaxDropped;
}

void Http1Session::EndHead(std::string& head) {
  if (parser_ && !MayDropBody()) keep_alive_ = false;
  // The server may be draining before this connection has been told.
  if (draining_ || connection_.core().draining) keep_alive_ = false;
  const bool stays_by_itself = version_ >= 11;  // only the other end is told
  if (keep_alive_ != stays_by_itself) {
    head.append(keep_alive_ ? "Connection: keep-alive\r\n" : "Connection: close\r\n");
  }
  head.append("\r\n");
}

void Http1Session::Respond(ServerExchange& exchange, Response response) {
  if (!IsCurrent(exchange)) return;
  if (state_ == State::kStreaming) return Finish(exchange);
  const auto content = response.content();
  std::string& head = BuildHead(response.status, response.headers, content.size());
  EndHead(head);
  if (is_head_ || !HasBody(response.status) || content.empty()) {
    connection_.Send(head);
  } else if (head.size() + content.size() <= WriteQueue::kRecord) {
    connection_.Send(head, content);
  } else {
    connection_.out().Append(std::string_view(head));
    if (response.shared_body) {
      connection_.out().Append(response.shared_body);
    } else {
      connection_.out().Append(std::move(response.body));
    }
    connection_.Flush();
  }
  EndAnswer(exchange);
}

// The answer is in the queue. The message ends when the socket has taken it.
void Http1Session::EndAnswer(ServerExchange& exchange) {
  if (connection_.closed()) return;
  if (connection_.out().empty()) return FinishMessage();
  state_ = State::kFlushing;
  flushing_ = exchange.shared_from_this();
}

void Http1Session::Start(ServerExchange& exchange, ResponseHead head) {
  if (!IsCurrent(exchange) || state_ == State::kStreaming) return;
  state_ = State::kStreaming;
  chunked_answer_ = version_ >= 11 && HasBody(head.status) && !is_head_;
  if (version_ < 11) keep_alive_ = false;  // the end of the connection is the end of the body
  std::string& text = BuildHead(head.status, head.headers, std::numeric_limits<std::size_t>::max());
  if (chunked_answer_) text.append("Transfer-Encoding: chunked\r\n");
  EndHead(text);
  connection_.Send(text);
}

void Http1Session::Write(ServerExchange& exchange, std::shared_ptr<const std::string> shared,
                         std::string chunk) {
  const std::size_t size = shared ? shared->size() : chunk.size();
  if (!IsCurrent(exchange)) return;
  if (state_ == State::kHandling) Start(exchange, {});
  if (connection_.closed() || is_head_) return exchange.Released(size);
  unsent_ += size;
  auto& out = connection_.out();
  if (chunked_answer_) {
    std::string line;
    AppendNumber(size, 16, line);
    line.append("\r\n");
    out.Append(std::string_view(line));
  }
  if (shared) {
    out.Append(shared);
  } else {
    out.Append(std::move(chunk));
  }
  if (chunked_answer_) out.Append(std::string_view("\r\n"));
  connection_.Flush();
}

void Http1Session::Finish(ServerExchange& exchange) {
  if (!IsCurrent(exchange)) return;
  if (state_ == State::kHandling) Start(exchange, {});
  if (connection_.closed()) return;
  if (chunked_answer_) connection_.Send("0\r\n\r\n");
  if (web_socket_) {
    std::string end;
    AppendCloseFrame(kNormalClosure, end);
    connection_.Send(end);
  }
  EndAnswer(exchange);
}

void Http1Session::Abandon(int stream) {
  if (stream != exchange_number_) return;
  if (state_ == State::kHandling || state_ == State::kStreaming) connection_.Close();
}

void Http1Session::FinishMessage() {
  connection_.core().exchanges.fetch_sub(1, std::memory_order_relaxed);
  if (const auto exchange = current_.lock()) exchange->Completed();
  current_.reset();
  flushing_.reset();
  chunked_answer_ = false;
  reads_body_ = false;
  std::string().swap(body_);
  since_ = connection_.loop().now();
  if (!keep_alive_ || draining_) {
    state_ = State::kClosing;
    const bool unread = parser_ != nullptr || web_socket_ != nullptr || tunnel_ != nullptr;
    parser_.reset();
    return connection_.CloseWhenFlushed(unread);
  }
  state_ = State::kReading;
  drops_body_ = parser_ != nullptr;
  if (pending_.empty()) {
    connection_.ResumeReading();
  } else {
    // Not from here: the caller may be in the middle of Process.
    connection_.loop().Defer([weak = connection_.weak_from_this(), this] {
      const auto connection = weak.lock();
      if (!connection || connection->closed() || state_ != State::kReading) return;
      connection->Guard([&] {
        OnBytes({});
        if (!connection->closed()) connection->ResumeReading();
      });
    });
  }
}

}  // namespace portcullis::net::internal
