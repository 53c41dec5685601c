// SPDX-License-Identifier: Apache-2.0

// Http2Client makes HTTP/2 connections (RFC 9113) that carry many requests at once, each with a body in
// pieces both ways and trailers: what gRPC needs. With TLS (ALPN "h2") or without ("h2c", prior
// knowledge). It knows nothing of retries or pools: those are its user's.
//
// Confined to its loop's thread, as all of its connections are, except where said otherwise. What is
// sent during one turn of the loop leaves in one write. Receivers and listeners are called on that
// thread; they may call anything here, Close included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "net/http.h"
#include "net/io_loop.h"
#include "net/tls.h"

namespace portcullis::net {

// A field of a head. Names are lower case; ":method", ":scheme", ":authority" and ":path" come first.
struct Http2Field {
  std::string_view name;
  std::string_view value;
  bool changes = false;  // it differs from request to request: not kept in the compression table
};

// How a stream has ended.
struct Http2End {
  bool complete = false;  // with the end of the answer; else `cause` says why not
  // The server has done nothing with the request, which may be sent again: refused, above the last
  // stream of a GOAWAY, or it has never left.
  bool not_processed = false;
  bool connection_lost = false;
  bool reset_by_server = false;  // by a RST_STREAM
  bool head_too_large = false;   // larger than Http2Options::max_header_bytes
  std::uint32_t code = 0;        // of a RST_STREAM, the server's or ours
  // Go's words: "read tcp …: connection reset by peer", "EOF"; "stream terminated by RST_STREAM with
  // error code: CANCEL".
  std::string cause;
};

struct Http2Goaway {
  std::uint32_t code = 0;
  std::int32_t last_stream = 0;  // that the server has or may have done something with
  std::string_view debug_data;
};

class Http2Receiver {
 public:
  virtual ~Http2Receiver() = default;
  // The fields of the answer's head, ":status" first; after OnHead those of the trailers. The views
  // are valid during the call.
  virtual void OnField(std::string_view name, std::string_view value) = 0;
  virtual void OnHead() {}
  virtual void OnData(std::string_view piece) = 0;
  // Asked after OnData: true leaves the stream's window as it is until Http2ClientConnection::Resume.
  virtual bool is_paused() const { return false; }
  // Once, the last call. The stream is gone.
  virtual void OnEnd(const Http2End& end) = 0;
};

class Http2Connection;

class Http2Listener {
 public:
  virtual ~Http2Listener() = default;
  // The server has said its first words.
  virtual void OnConnected() = 0;
  // The server has sent GOAWAY: no new streams; those under way go on.
  virtual void OnDraining(const Http2Goaway& goaway) = 0;
  // Once, the last call: it could not be made, or is lost. All streams have heard of it.
  virtual void OnClosed(const std::string& cause) = 0;
};

struct Http2Options {
  base::Duration connect_timeout = std::chrono::seconds(30);  // until the server's first frame
  // If a stream is open and nothing has come for so long, a PING is sent; if still nothing comes for
  // `ping_timeout`, the connection is lost, by the cause `ping_failure`. 0: never.
  base::Duration ping_after{};
  base::Duration ping_timeout = std::chrono::seconds(10);
  std::string_view ping_failure = "keepalive ping failed to receive ACK within timeout";
  std::int32_t stream_window = 8 << 20;
  std::int32_t connection_window = 64 << 20;
  std::size_t max_header_bytes = 64 << 10;  // of head and trailers of one answer
};

struct Http2Target {
  std::string host_port;                 // connected to
  std::shared_ptr<const ClientTls> tls;  // null: none. Offers HTTP/2 alone.
  std::string server_name;               // for TLS: host of the URL
};

class Http2Connection {
 public:
  virtual ~Http2Connection() = default;
  // Connected, and not draining.
  virtual bool is_open() const = 0;
  virtual std::size_t streams() const = 0;

  // Begins a request. `body` is its first piece; with `ends` there are no more. The receiver must
  // live until OnEnd or Reset; nothing is called before this returns. 0, and the receiver is not
  // called: the connection is not open, has used up its numbers, or there is no memory.
  virtual std::int32_t Start(std::span<const Http2Field> head, RequestBody body, bool ends,
                             Http2Receiver& receiver) = 0;
  // No effect on a stream that has ended.
  virtual void Send(std::int32_t stream, std::string piece, bool ends) = 0;
  // Ends the stream (CANCEL); the receiver is not called any more.
  virtual void Reset(std::int32_t stream) = 0;
  // `acknowledged` is called when the answer has come; never if the connection is lost before.
  virtual void Ping(std::function<void()> acknowledged) = 0;
  // Sends GOAWAY and closes. Streams end with that cause; the listener is not called. No effect the
  // second time.
  virtual void Close(const std::string& cause) = 0;
};

class Http2Client {
 public:
  // Any thread. `loop` must have its IoThreads as long as connections are wanted.
  static std::unique_ptr<Http2Client> Create(const IoLoop& loop);
  // Any thread. Connections must be closed before.
  virtual ~Http2Client() = default;
  // The listener must live until OnClosed or Close; it is not called before this returns. Dropping
  // the connection does not close it.
  virtual std::shared_ptr<Http2Connection> Connect(const Http2Target& target,
                                                   const Http2Options& options,
                                                   Http2Listener& listener) = 0;
};

}  // namespace portcullis::net
