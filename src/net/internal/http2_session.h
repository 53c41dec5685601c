// SPDX-License-Identifier: Apache-2.0

// HTTP/2 on a server connection (RFC 9113). Frames, HPACK and flow control are nghttp2's; here is
// what requests and answers are made of, and the limits.
//
// http2_session.cc has what comes in, http2_answers.cc what goes out.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "net/internal/frame_buffers.h"
#include "net/internal/server_connection.h"
#include "net/internal/server_exchange.h"
#include "net/internal/write_queue.h"

namespace portcullis::net::internal {

struct H2Stream {
  std::int32_t id = 0;
  Request request;
  std::size_t header_bytes = 0;
  std::size_t body_limit = 3 << 20;
  base::SteadyTime head_at;
  bool head_done = false;
  bool delivered = false;
  bool complete = false;                // the request, with its body
  bool drops_body = false;              // which has not come in time
  bool reads_body = false;              // which the handler has asked for
  std::optional<std::size_t> declared;  // its length
  std::size_t unasked = 0;              // bytes of the body that count against kMaxUnasked
  bool too_large = false;
  bool headers_too_large = false;
  std::weak_ptr<ServerExchange> exchange;
  std::shared_ptr<ServerExchange> answered;  // this may be its last reference
  base::SteadyTime taken_at;                 // when the client last took something of the answer

  bool started = false;
  bool finished = false;
  bool deferred = false;
  bool is_head = false;
  WriteQueue out;
};

// Confined to its connection's thread.
class Http2Session final : public Session {
 public:
  explicit Http2Session(ServerConnection& connection);
  ~Http2Session() override { nghttp2_session_del(session_); }
  // False if there was no memory: the session is good for nothing then.
  bool is_made() const { return session_ != nullptr; }
  // Once, if it is made. Not by the constructor: memory may run out, and then what has been made is
  // destroyed.
  void SendSettings() { Pull(); }

  void OnBytes(std::string_view bytes) override;
  bool WantsBytes() const override {
    read_paused_ = connection_.out().bytes() >= connection_.core().options.max_http2_buffer;
    return !closing_ && !read_paused_;
  }
  void OnPeerClosing() override {}
  void OnEof() override { connection_.Close(); }
  void OnGone() override;
  void OnWritten() override;
  void OnTick(base::SteadyTime now) override;
  void HandOverHeads() override;
  void Drain() override;

  void ReadBody(ServerExchange& exchange) override;
  void Respond(ServerExchange& exchange, Response response) override;
  void Start(ServerExchange& exchange, ResponseHead head) override;
  void Write(ServerExchange& exchange, std::shared_ptr<const std::string> shared,
             std::string chunk) override;
  void Finish(ServerExchange& exchange) override;
  void StartWebSocket(ServerExchange& exchange, const WebSocketAnswer& handshake) override;
  void Abandon(int stream) override;

 private:
  static Http2Session& Self(void* user) { return *static_cast<Http2Session*>(user); }
  H2Stream* Find(std::int32_t id) {
    const auto found = streams_.find(id);
    return found == streams_.end() ? nullptr : found->second.get();
  }

  int OnBeginHeaders(const nghttp2_frame& frame);
  int OnHeader(const nghttp2_frame& frame, std::string_view name, std::string_view value);
  int OnFrame(const nghttp2_frame& frame);
  void OnData(std::int32_t id, std::string_view data);
  void OnStreamClosed(std::int32_t id);
  void OnFrameSent(const nghttp2_frame& frame);
  ssize_t ReadBody(std::int32_t id, std::uint8_t* buffer, std::size_t size, std::uint32_t* flags);

  void CheckStream(H2Stream& stream, base::SteadyTime now);
  void HeadDone(H2Stream& stream, bool ends);
  void BodyDone(H2Stream& stream);
  void Asked(H2Stream& stream);
  void DropBody(H2Stream& stream);
  void Deliver(H2Stream& stream);
  void SubmitHead(H2Stream& stream, int status, const Headers& headers, bool has_body,
                  std::size_t content_length);
  void SayGoaway();
  void Pull();  // frames from nghttp2 to the connection
  void CloseIfDone();

  ServerConnection& connection_;
  FrameBuffers buffers_;  // outlives the session
  nghttp2_session* session_ = nullptr;
  std::unordered_map<std::int32_t, std::unique_ptr<H2Stream>> streams_;
  base::SteadyTime idle_since_;
  std::size_t unasked_ = 0;   // over all streams
  bool awaits_body_ = false;  // the shard will call HandOverHeads
  // A client that opens streams only to reset them (CVE-2023-44487), or to have them reset, uses this
  // up; it grows back.
  static constexpr int kResetBudget = 500;
  int reset_budget_ = kResetBudget;
  bool receiving_ = false;
  bool pulling_ = false;
  bool wrote_ = false;  // since the last tick
  bool draining_ = false;
  bool closing_ = false;
  bool refused_ = false;  // more may be coming that is not going to be read
  mutable bool read_paused_ = false;
};

}  // namespace portcullis::net::internal
