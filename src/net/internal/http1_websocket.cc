// SPDX-License-Identifier: Apache-2.0

// A connection of HTTP/1.1 that has become a WebSocket: frames of the client are read and answered
// between those that the handler writes.
#include "base/strings.h"
#include "net/internal/http1_session.h"

namespace portcullis::net::internal {
namespace {

// A client that takes no pongs is not read.
constexpr std::size_t kMaxUnread = 64 << 10;

}  // namespace

void Http1Session::StartWebSocket(ServerExchange& exchange, const WebSocketAnswer& handshake) {
  if (!IsCurrent(exchange) || state_ == State::kStreaming) return;
  keep_alive_ = false;
  connection_.Send(handshake.bytes);
  if (!handshake.accepted) return EndAnswer(exchange);
  if (connection_.closed()) return;
  parser_.reset();
  state_ = State::kStreaming;
  web_socket_ = std::make_unique<WebSocketReader>();
  // Empty in the middle of Process(), which goes on with what it has.
  if (!pending_.empty()) ReadFrames(std::exchange(pending_, {}));
  if (!connection_.closed()) connection_.ResumeReading();
}

bool Http1Session::ReadsFrames() const {
  return web_socket_ && state_ == State::kStreaming && connection_.out().bytes() < kMaxUnread;
}

void Http1Session::ReadFrames(std::string_view bytes) {
  if (state_ != State::kStreaming) return;
  std::string answer;
  if (!web_socket_->Feed(bytes, answer)) return EndWebSocket(std::move(answer));
  if (!answer.empty()) connection_.Send(answer);
}

// The end is found by reading, unless that waits for a client which has stopped to take anything.
void Http1Session::OnWebSocketClosing() {
  if (!ReadsFrames()) EndWebSocket({});
}

// From the client's side: nothing of the handler is sent any more.
void Http1Session::EndWebSocket(std::string answer) {
  if (state_ != State::kStreaming) return;
  AppendCloseFrame(kNormalClosure, answer);
  connection_.Send(answer);
  if (connection_.closed()) return;
  state_ = State::kClosing;
  connection_.core().exchanges.fetch_sub(1, std::memory_order_relaxed);
  if (const auto exchange = current_.lock()) exchange->PeerGone();
  connection_.CloseWhenFlushed(true);
}

}  // namespace portcullis::net::internal
