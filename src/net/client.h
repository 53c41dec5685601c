// SPDX-License-Identifier: Apache-2.0

// HttpsClient calls servers over pooled keep-alive connections, with a deadline for each call and
// failures worded as Go's net/http words them, for Kubernetes shows those to users. They speak
// HTTP/1.1, one call at a time, or HTTP/2 (RFC 9113), many at once: where the request's ClientTls
// offers that and the server chooses it.
//
// Behaviour of connections follows Go's http.Transport as kube-apiserver sets it up for webhooks:
// dial 30 s, TLS handshake 10 s, idle 90 s; but up to 256 idle connections per host, not 25: ten
// validating webhooks on one host need 160 for 16 requests at once, and a handshake costs as much
// as a hundred calls. A call is repeated only if it met a kept connection that had been closed
// before anything was written to it, or, for methods without side effects, before anything came
// back.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/status.h"
#include "net/http.h"
#include "net/io_threads.h"
#include "net/proxy.h"
#include "net/tls.h"

namespace portcullis::net {

namespace internal {
struct PreparedRequest;
}

struct ClientRequest {
  std::string method = "POST";
  std::string url;  // absolute; appears in error texts as given
  // Prepare(*this), for requests that are made again and again; null: it is made for each call.
  std::shared_ptr<const internal::PreparedRequest> prepared;
  Headers headers;  // Host, Content-Length and (if absent) Accept-Encoding: gzip are added
  std::shared_ptr<const std::string> body;  // null: none
  std::shared_ptr<const ClientTls> tls;     // for https; null: system roots, no client certificate

  // Where new connections for this URL's host:port go instead: returns "host:port", or an error
  // that becomes the call's (`Post "…": service "x" not found`). Null: the URL's own host and port.
  // Called only when a connection has to be made, on the calling thread or (when a kept connection
  // turned out to be dead, or after a redirect) on an I/O thread: must not block.
  std::function<base::Result<std::string>(const std::string& host_port)> resolve;

  // Null: those of ClientOptions.
  std::shared_ptr<const ProxyRules> proxies;

  // Of the body, both as it arrives and decoded; 0: ClientOptions::max_response_bytes.
  std::size_t max_response_bytes = 0;
  // Requests in all when redirects are followed, as Go counts; 0: the redirect is the answer.
  int max_redirects = 0;
  // If set, receives the head with an empty piece, then the body in pieces as it arrives, inflated unless the
  // headers name an encoding, on an I/O thread or the one that waits; Response::body stays empty.
  std::function<void(const ResponseHead& head, std::string_view piece)> on_data;
};

// What the method, the URL and the headers come to on the wire. The error is ParseUrl's.
base::Result<std::shared_ptr<const internal::PreparedRequest>> Prepare(
    const ClientRequest& request);

// A request that may be sent more than once is not copied for that.
using SharedRequest = std::shared_ptr<const ClientRequest>;

// Where a call failed.
enum class CallPhase {
  kNone,
  kRequest,  // the URL or the request is malformed
  kResolve,  // the host name or `resolve`
  kConnect,
  kHandshake,
  kWrite,
  kFirstByte,  // waiting for, or reading, the head of the answer
  kRead,       // reading the body
  kDecode,     // gzip
};
std::string_view PhaseName(CallPhase phase);  // "connect", "first byte", …

struct CallFailure {
  CallPhase phase = CallPhase::kNone;
  // Go's text without context: "EOF", "dial tcp 127.0.0.1:1: connect: connection refused",
  // "context deadline exceeded".
  std::string cause;
  // As http.Client.Do returns it: `Post "https://…": EOF`. The cause alone for kRead and kDecode.
  std::string message;
  bool timed_out = false;  // the call's deadline has passed
  bool too_large = false;  // the body is larger than the limit; trying again does not help
  bool cancelled = false;  // PendingCall::Cancel, or the client is gone: "context canceled"
};

struct CallResult {
  Response response;  // complete if there is no failure; the head is filled if phase >= kRead
  std::optional<CallFailure> failure;
  std::string address;  // connected to, "10.0.0.1:443"
  base::Duration elapsed{};
  bool reused_connection = false;
  // About the server's certificate: no subject alternative name; SHA-1 below the root.
  bool certificate_without_san = false;
  bool certificate_with_sha1 = false;

  bool ok() const { return !failure.has_value(); }
};

// A call that reports to a callback. Thread-safe. Dropping it does not cancel.
class PendingCall {
 public:
  virtual ~PendingCall() = default;
  virtual void Cancel() = 0;
};

// Several calls of one thread or fiber at once. On kept connections a thread does their work by
// itself while it waits for the next answer, so that no other thread is woken up for them; what a
// fiber waits for, its I/O thread does.
//
// Confined to the thread or fiber that it was made on. What is still under way when it is destroyed
// is given up. Must be destroyed before its client.
class CallSet {
 public:
  struct Arrival {
    std::size_t id = 0;
    CallResult result;
  };

  virtual ~CallSet() = default;
  // Sends the request, if there is a kept connection, as far as that takes it. `id` is the
  // caller's; `body`, if there is one, is sent instead of the request's.
  virtual void Start(std::size_t id, SharedRequest request, base::SteadyTime deadline,
                     RequestBody body = {}) = 0;
  // The next call that is over; nothing if none is by `until`, for which it also waits if none is
  // under way. Without `until` the deadlines of the
  // calls bound the wait, and nothing means that none was under way.
  virtual std::optional<Arrival> Next(std::optional<base::SteadyTime> until = std::nullopt) = 0;
};

struct ClientOptions {
  std::chrono::milliseconds dial_timeout{30'000};
  std::chrono::milliseconds handshake_timeout{10'000};
  std::chrono::milliseconds idle_timeout{90'000};
  std::size_t max_idle_per_host = 256;
  std::size_t max_header_bytes = 10 << 20;  // as Go's Transport
  // What an answer's body may be large, both as it arrives and decoded: a larger one ends the call
  // with CallFailure::too_large. 0: no limit.
  std::size_t max_response_bytes = 0;
  // Null: every server is reached directly. A proxy is asked by CONNECT, itself spoken to without
  // TLS; ClientRequest::resolve does not count then.
  std::shared_ptr<const ProxyRules> proxies;
};

struct ClientCounters {
  std::size_t connections_opened = 0;
  std::size_t connections_idle = 0;  // of HTTP/1.1
};

// Thread-safe. Destroying it fails what Begin has begun with "context canceled" and closes
// connections.
class HttpsClient {
 public:
  using Done = std::function<void(CallResult)>;

  virtual ~HttpsClient() = default;
  static std::unique_ptr<HttpsClient> Create(IoThreads& threads, const ClientOptions& options = {});

  // Blocks: a fiber of an I/O thread, which is left meanwhile, or a thread that is no I/O thread.
  // Over before the client is destroyed.
  virtual CallResult Call(SharedRequest request, base::SteadyTime deadline) = 0;
  CallResult Call(ClientRequest request, base::SteadyTime deadline) {
    return Call(std::make_shared<const ClientRequest>(std::move(request)), deadline);
  }
  virtual std::unique_ptr<CallSet> NewSet() = 0;  // on such a fiber or thread
  // `done` is called once, on an I/O thread (or on this one if nothing could be sent).
  virtual std::shared_ptr<PendingCall> Begin(ClientRequest request, base::SteadyTime deadline,
                                             Done done) = 0;
  virtual void CloseIdle() = 0;
  virtual ClientCounters counters() const = 0;
  // Fails what is under way, also on threads and fibers that wait for it, and what begins later.
  virtual void Stop() = 0;
};

}  // namespace portcullis::net
