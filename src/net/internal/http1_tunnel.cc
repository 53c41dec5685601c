// SPDX-License-Identifier: Apache-2.0

// A connection of HTTP/1.1 that has been given away (net/tunnel.h).
#include "net/internal/http1_session.h"

namespace portcullis::net::internal {

void Http1Session::StartTunnel(ServerExchange& exchange,
                               std::function<void(std::string_view)> on_bytes) {
  if (!IsCurrent(exchange) || state_ == State::kStreaming) return;
  keep_alive_ = false;
  is_head_ = false;
  parser_.reset();
  state_ = State::kStreaming;
  tunnel_ = std::move(on_bytes);
  tunnel_reads_ = true;
  connection_.GiveAway();
  // Empty in the middle of Process(), which goes on with what it has.
  if (!pending_.empty()) TakeFromTunnel(std::exchange(pending_, {}));
  if (!connection_.closed()) connection_.ResumeReading();
}

void Http1Session::TakeFromTunnel(std::string_view bytes) {
  if (state_ != State::kStreaming || bytes.empty()) return;
  tunnel_reads_ = false;
  tunnel_(bytes);
}

void Http1Session::ReadMore(ServerExchange& exchange) {
  if (!IsCurrent(exchange) || !tunnel_) return;
  tunnel_reads_ = true;
  connection_.ResumeReading();
}

}  // namespace portcullis::net::internal
