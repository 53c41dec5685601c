// SPDX-License-Identifier: Apache-2.0

// Call: an operation on its way through the server, by HTTP or of one of its own controllers, and
// Reply: what it is answered with.
//
// A Call belongs to the worker that handles it. Its arena holds every value made for the request;
// the snapshot of the catalog is taken at the start, so the whole request sees one set of kinds.
// Resource, subresource, verb and name are set once the path is known to name something served.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "audit/event.h"
#include "authn/authenticator.h"
#include "base/status.h"
#include "engine/operation.h"
#include "net/http.h"
#include "net/server.h"
#include "server/environment.h"
#include "server/negotiation.h"
#include "server/request_info.h"
#include "server/seats.h"

namespace portcullis::server {

// Text that is made piece by piece while it is sent. Used by one thread.
class TextSource {
 public:
  virtual ~TextSource() = default;
  // Appends the next piece to `out`; false: it was the last one.
  virtual base::Result<bool> Append(std::string& out) = 0;
};

struct Reply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::shared_ptr<const std::string> shared_body;  // instead of body
  json::Value value;  // what the body holds, of the arena of the call; null if the body is JSON
  // What follows `body`, of an answer that is too large to be held whole; it may refer to the call.
  std::unique_ptr<TextSource> rest;
  net::Headers headers;
  bool is_file = false;    // bytes that no audit event shows
  bool streaming = false;  // the answer is (or will be) written by somebody else
  bool is_late = false;    // the call's time was up: without the headers that handlers add
};

struct CallTrace;  // admission_traces.h

struct Call : engine::Operation {
  Call(const Environment& environment, std::shared_ptr<net::Exchange> its_exchange);
  // Of the server itself: `own` is the request that would have come by HTTP, as audit, flow control
  // and metrics name it; it has no body.
  Call(const Environment& environment, net::Request own);
  ~Call();

  const Environment& env;
  std::shared_ptr<net::Exchange> exchange;  // null: of the server itself
  RequestInfo info;
  authn::Notes notes;  // of the authentication
  Accepted accepted;
  std::string body;
  const std::unique_ptr<const net::Request> own_request;  // null: it came by HTTP
  std::shared_ptr<Seat> seat;                             // null: it needs none
  std::optional<audit::Event> audit;
  std::string audit_id;
  base::SteadyTime entered;    // the filter that it is in: see filters/access.h
  bool allows_origin = false;  // a script of another site may read the answer (CORS)
  bool is_authorized = false;
  bool is_routed = false;            // it has come to a handler: metrics count it
  std::size_t fetched = 0;           // objects that its list has looked at,
  std::size_t returned = 0;          // and shows
  bool takes_cbor = false;           // its endpoint reads and writes CBOR, errors included
  base::Status freshness;            // why the store has not caught up with other servers
  bool on_io_thread = false;         // runs where nothing may wait
  bool would_wait = false;           // whose it is, another server has to say: not yet
  std::unique_ptr<CallTrace> trace;  // null: the call is not traced

  bool by_server_itself() const { return exchange == nullptr; }
  const net::Request& request() const { return exchange ? exchange->request() : *own_request; }
  const net::Headers& headers() const { return request().headers; }
};

}  // namespace portcullis::server
