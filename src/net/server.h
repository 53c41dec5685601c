// SPDX-License-Identifier: Apache-2.0

// HttpsServer accepts HTTP/1.1 and HTTP/2 over TLS (or plain TCP) and hands each request to a
// handler as an Exchange, to be answered from any thread: when it is complete, or
// (bodies_on_demand) when its head is, so that the handler decides whose bodies are read.
//
// Limits protect against slow, oversized and malformed input; see ServerOptions. What a client sees
// on errors below the handler is what Go's net/http answers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "net/http.h"
#include "net/io_threads.h"
#include "net/tls.h"
#include "net/websocket.h"

namespace portcullis::net {

enum class Protocol { kHttp10, kHttp11, kHttp2 };

// The certificate a client has presented, judged when the head of the request was complete: by the
// client CA that the server had then, and by the time it was (kube-apiserver, too, verifies at every
// request). Immutable. One that Go's parser refuses, or that comes with such a one, does not come so
// far: the handshake fails.
struct ClientCertificate {
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> uids;   // see CertificateInfo::uids
  std::string sha256;              // of the leaf's DER, lower-case hex
  std::string serial;              // decimal
  std::int64_t not_after = 0;      // of the leaf, in seconds since 1970
  std::vector<std::string> chain;  // DER, leaf first
  // "" if it chains up to the client CA for client authentication, else Go's text: "x509:
  // certificate signed by unknown authority". Nothing else in here is to be believed then.
  std::string error;
  // The error of the same client CA at any time from one on and before the other, in seconds since
  // 1970: until a certificate of the chain becomes valid or expires.
  std::int64_t judged_from = std::numeric_limits<std::int64_t>::min();
  std::int64_t judged_until = std::numeric_limits<std::int64_t>::max();
};

// How reading a body has ended.
enum class BodyRead {
  kComplete,
  kTooLarge,  // body_too_large() is true from now on
  kTimedOut,  // it did not come in time
  kRefused,   // there was no room for it in time: see BodyLimits
  kClosed,    // the client has gone
};

// Who a body is read for, and how long that may take.
struct BodyRequest {
  std::string owner;  // the user whose share of BodyLimits it counts against
  base::SteadyTime deadline;
};

// One request and the way to answer it.
//
// Thread-safe: any thread may call any method, one thread at a time. Answer exactly once:
// Respond(), or Start() + Write()* + Finish(). Dropping the last reference without an answer resets
// the connection (HTTP/1.1) or the stream (HTTP/2). Methods on a closed exchange do nothing. The
// server itself keeps an answered exchange until the socket has taken the whole answer.
class Exchange {
 public:
  virtual ~Exchange() = default;

  // Without a body until that is complete.
  virtual const Request& request() const = 0;
  // False only with ServerOptions::bodies_on_demand: ReadBody() brings the body, or the request is
  // answered without it. The rest of an unread body is then read and dropped if it is small;
  // otherwise the connection (HTTP/1.1) or the stream (HTTP/2) ends with the answer, as Go does it.
  virtual bool body_complete() const = 0;
  // Has the body read within the limits of ServerOptions::bodies. `fn` is called once, on an I/O
  // thread or on this one; after kComplete TakeBody() has it. Call at most once, before the answer.
  virtual void ReadBody(BodyRequest request, std::function<void(BodyRead)> fn) = 0;
  // Moves the body out of the request. REQUIRES: body_complete().
  virtual std::string TakeBody() = 0;
  // Runs `fn` on the I/O thread of the connection, where answers are cheapest; drops it if that
  // thread has ended. The handler's: also when the client has gone. `fn` must not block.
  virtual void RunOnIoThread(std::function<void()> fn) = 0;
  // The same on a fiber of that thread (base/fiber.h), where calls of an HttpsClient leave it while
  // they wait. Where there is no stack for it, `fn` runs on the thread's own: Fiber::Current() tells.
  virtual void RunOnFiber(std::function<void()> fn) = 0;
  // Keeps `object` alive as long as this exchange: until the handler has let go of it and the
  // answer is complete. Its destructor may run on an I/O thread.
  virtual void Attach(std::shared_ptr<void> object) = 0;
  // The client has shown who it is: its connection is no stranger's any more (ServerOptions).
  virtual void MarkKnown() = 0;
  // A finished answer that the client has not taken by then is cut off.
  virtual void SetDeadline(base::SteadyTime deadline) = 0;
  // The body was longer than allowed and is cut off: answer with 413. Go's text for it:
  // "http: request body too large".
  virtual bool body_too_large() const = 0;
  virtual Protocol protocol() const = 0;
  virtual bool secure() const = 0;                        // came over TLS
  virtual const std::string& remote_address() const = 0;  // "127.0.0.1:50123"
  virtual std::shared_ptr<const ClientCertificate> client_certificate() const = 0;  // may be null
  virtual base::SteadyTime received_at() const = 0;  // when the head was complete

  virtual void Respond(Response response) = 0;

  // A streamed answer: chunked (HTTP/1.1), DATA frames (HTTP/2). Each Write is sent at once.
  virtual void Start(ResponseHead head) = 0;
  virtual void Write(std::string chunk) = 0;
  virtual void Write(std::shared_ptr<const std::string> chunk) = 0;  // not copied: for fan-out
  virtual void Finish() = 0;
  // Ends HTTP/1.1 on the connection with the answer to a handshake; what is accepted is a started
  // answer from then on. What is written are whole frames; the server itself answers pings, and lets the
  // client go (OnClosed) when that closes. Finish() closes in the ordinary way.
  virtual void StartWebSocket(WebSocketAnswer handshake) = 0;
  // Ends a started answer so that the client notices that it is incomplete.
  virtual void Abort() = 0;

  // Written but not yet taken by the socket: slow readers make it grow; the caller decides when
  // that is too much.
  virtual std::size_t buffered_bytes() const = 0;
  // The client has gone, or the connection failed. Also true after the answer has been sent.
  virtual bool closed() const = 0;
  // `fn` is called once, on an I/O thread, when the client goes before the answer is complete;
  // right away (on this thread) if it has gone already; never otherwise.
  virtual void OnClosed(std::function<void()> fn) = 0;
  // `fn` is called on an I/O thread each time buffered_bytes() falls to zero after a Write.
  virtual void OnDrained(std::function<void()> fn) = 0;
};

// Memory for bodies that are read on demand. A body's declared length (else the largest allowed) is
// reserved before more than the beginning is read, so that half-sent bodies cannot keep each other
// from completing; what finds no room waits unread, in its client's socket.
struct BodyLimits {
  std::size_t total = 64 << 20;
  std::size_t per_owner = 32 << 20;
};

// Called on an I/O thread: must not block. May answer at once (cheapest) or pass the exchange on.
using Handler = std::function<void(std::shared_ptr<Exchange>)>;

struct ServerOptions {
  std::string address = "127.0.0.1:0";   // port 0 picks a free one
  std::shared_ptr<const ServerTls> tls;  // null: plain HTTP/1.1
  // Its wall time judges client certificates; outlives the server.
  const base::Clock* clock = &base::SystemClock();
  std::size_t max_header_bytes = 1 << 20;
  // The largest body allowed for a request of which only the head is known; null: 3 MiB for all.
  std::function<std::size_t(const Request& head)> max_body_bytes;
  // Hands over requests when their heads are complete; a small body is waited for a moment, so that
  // what clients send in one go arrives in one piece.
  bool bodies_on_demand = false;
  BodyLimits bodies;
  // From connect (or from the first byte of a later request) to the complete head.
  std::chrono::milliseconds header_timeout{32'000};
  // From the complete head to the complete body, for bodies that are not read on demand.
  std::chrono::milliseconds body_timeout{60'000};
  std::chrono::milliseconds idle_timeout{90'000};
  // A client that takes not one byte of a waiting answer for so long is dropped; so is a stream of
  // HTTP/2 whose window stays shut.
  std::chrono::milliseconds write_timeout{120'000};
  std::size_t max_connections = 100'000;
  // From one client address, of which none has been marked as known; 0: no limit of its own.
  std::size_t max_strangers_per_address = 0;
  std::uint32_t max_streams_per_connection = 250;
  // Of one connection that is not yet written; reading stops above it.
  std::size_t max_http2_buffer = 4 << 20;
};

struct ServerCounters {
  std::size_t open_connections = 0;
  std::size_t open_exchanges = 0;
  std::size_t accepted = 0;
  std::size_t tls_errors = 0;
  std::size_t body_bytes = 0;      // reserved for bodies that are read on demand
  std::size_t waiting_bodies = 0;  // for room
};

// Thread-safe. Destroying it closes all connections at once.
class HttpsServer {
 public:
  virtual ~HttpsServer() = default;

  // Binds and starts to accept. Errors: `listen tcp 127.0.0.1:443: bind: permission denied`.
  static base::Result<std::unique_ptr<HttpsServer>> Listen(IoThreads& threads,
                                                           ServerOptions options, Handler handler);

  // Accepts at a second address, too, "[::1]:443". Before connections are expected there.
  virtual base::Status AlsoListen(const std::string& address) = 0;

  virtual const std::string& address() const = 0;  // "127.0.0.1:34567"
  virtual int port() const = 0;
  // For connections from now on; its client CA for requests from now on.
  virtual void SetTls(std::shared_ptr<const ServerTls> tls) = 0;
  virtual ServerCounters counters() const = 0;

  // Stops accepting, closes idle connections, lets running exchanges finish (telling clients by
  // Connection: close or GOAWAY) for at most `grace`, then closes the rest. Blocks; true if nothing
  // had to be cut off.
  virtual bool Shutdown(std::chrono::milliseconds grace) = 0;
};

}  // namespace portcullis::net
