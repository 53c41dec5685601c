// SPDX-License-Identifier: Apache-2.0

// One connection of an Http2Client. Frames, HPACK and flow control are nghttp2's.
//
// http2_client_connection.cc makes the connection, moves bytes and closes; http2_client_streams.cc has
// what nghttp2 calls and what streams are made of.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "net/http2_client.h"
#include "net/internal/dialer.h"
#include "net/internal/loop.h"
#include "net/internal/stream.h"
#include "net/internal/write_queue.h"

namespace portcullis::net::internal {

class Http2ClientConnection final : public Http2Connection,
                                    public Sink,
                                    public std::enable_shared_from_this<Http2ClientConnection> {
 public:
  Http2ClientConnection(std::shared_ptr<Loop> loop, Resolver& resolver, Http2Target target,
                        const Http2Options& options, Http2Listener& listener);
  ~Http2ClientConnection() override;
  void Connect();
  // Speaks HTTP/2 on a connection that has been made, registered with no loop. Requests may be
  // started at once, before the server has said anything.
  void Adopt(std::unique_ptr<Stream> stream);

  bool is_open() const override { return state_ == State::kOpen; }
  std::size_t streams() const override { return streams_.size(); }
  // Whether one more request would be sent at once: the server has not said GOAWAY, and allows more
  // than there are.
  bool has_room() const;
  std::int32_t Start(std::span<const Http2Field> head, RequestBody body, bool ends,
                     Http2Receiver& receiver) override;
  void Send(std::int32_t stream, std::string piece, bool ends) override;
  void Reset(std::int32_t stream) override;
  void Resume(std::int32_t stream);  // its receiver is not paused any more
  void Ping(std::function<void()> acknowledged) override;
  void Close(const std::string& cause) override;

  void OnReady(Readiness readiness) override;

 private:
  enum class State {
    kConnecting,
    kHandshaking,
    kGreeting,  // the server's SETTINGS are awaited
    kOpen,
    kDraining,
    kClosed,
  };

  struct ClientStream {
    Http2Receiver* receiver = nullptr;
    RequestBody out;
    std::size_t taken = 0;       // of `out`
    std::size_t unconsumed = 0;  // received, and not given back to its window
    bool ends = false;           // nothing follows what is in `out`
    bool deferred = false;       // nghttp2 waits for more to send
    bool sent = false;           // its head has left, or is about to
    bool upload_done = false;    // END_STREAM has left, or is about to
    bool informational = false;  // the head that is coming is a 1xx
    bool head_done = false;
    bool complete = false;  // END_STREAM has come
    bool reset_by_server = false;
    bool fields_too_large = false;
    std::size_t field_bytes = 0;
  };

  static Http2ClientConnection& Self(void* user) {
    return *static_cast<Http2ClientConnection*>(user);
  }
  ClientStream* Find(std::int32_t id) {
    const auto found = streams_.find(id);
    return found == streams_.end() ? nullptr : &found->second;
  }

  // Bytes are exchanged.
  bool alive() const { return takes_streams() || state_ == State::kDraining; }

  bool takes_streams() const { return state_ == State::kGreeting || state_ == State::kOpen; }

  // The connection.
  void OnDialled(Dialer::Outcome& outcome);
  void ContinueHandshake();
  void Greet();
  void OnGreeting();
  std::string TimeoutText() const;
  void Read();
  void React(Readiness readiness);
  void Lose(const std::string& cause);
  void LeaveLoop();
  void EndAllStreams(const std::string& cause);

  // Bytes out.
  void SchedulePull();
  void Pull();
  bool Flush();

  // Keepalive.
  void ArmPing();
  void OnPingTimer();

  // What nghttp2 calls.
  bool MakeSession();
  int OnField(const nghttp2_frame& frame, std::string_view name, std::string_view value);
  int OnFrame(const nghttp2_frame& frame);
  void OnGoaway(const nghttp2_frame& frame);
  void OnData(std::int32_t id, std::string_view data);
  void Consume(std::int32_t id, ClientStream& stream);
  void OnStreamClosed(std::int32_t id, std::uint32_t code);
  void OnHeadNotSent(std::int32_t id);
  ssize_t ReadBody(std::int32_t id, std::uint8_t* buffer, std::size_t size, std::uint32_t* flags);

  const std::shared_ptr<Loop> loop_;
  Resolver& resolver_;
  const Http2Target target_;
  const Http2Options options_;
  Http2Listener* listener_;  // null: it is not called any more
  State state_ = State::kConnecting;
  Loop::TimerKey timer_;  // of the dial and the handshake, then of the keepalive

  std::shared_ptr<Dialer> dialer_;
  std::unique_ptr<Stream> stream_;
  std::uint64_t token_ = 0;
  WriteQueue out_;
  bool pull_scheduled_ = false;
  bool read_scheduled_ = false;
  bool in_nghttp2_ = false;

  nghttp2_session* session_ = nullptr;
  std::unordered_map<std::int32_t, ClientStream> streams_;
  std::deque<std::function<void()>> pings_;  // not acknowledged; null: of the keepalive
  base::SteadyTime heard_at_{};              // when something has come, or the first stream began
  base::SteadyTime pinged_at_{};             // by the keepalive, and nothing has come since
  bool ping_armed_ = false;
};

}  // namespace portcullis::net::internal
