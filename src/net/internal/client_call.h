// SPDX-License-Identifier: Apache-2.0

// ClientCall is one call of an HttpsClient from beginning to end, over as many connections and
// redirects as it takes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "net/client.h"
#include "net/url.h"

namespace portcullis::net::internal {

class ClientCall;
class Loop;

// What works on calls on a loop, where they can be cancelled.
class CallCarrier {
 public:
  virtual ~CallCarrier() = default;
  virtual Loop& loop() = 0;  // any thread
  // The call has been cancelled. On the loop's thread; no effect on one that it does not carry.
  virtual void CancelCall(const ClientCall& call) = 0;
  // Likewise: it is not paused any more; bytes are to follow its request (net/tunnel.h).
  virtual void ResumeCall(const ClientCall& call) = 0;
  virtual void SendMore(const ClientCall& call, std::string bytes, std::function<void()> taken) = 0;
};

struct PreparedRequest {
  PreparedRequest(const ClientRequest& request, Url its_url);

  Url url;
  std::string origin;       // "https://host:port"
  std::string head;         // the request line and the fields, up to Content-Length
  Headers http2_head;       // the same for HTTP/2 (RFC 9113 §8.3.1), if the client may offer that
  bool wants_gzip = false;  // we ask for it and decode it
  bool upgrades = false;    // the connection is given away (net/tunnel.h)
};

// Whether the size of its body is told, also if it has none: as Go's net/http.
inline bool TellsLength(std::string_view method, const RequestBody& body) {
  return body.rest != nullptr || method == "POST" || method == "PUT" || method == "PATCH";
}

// What became of a call that was dropped on the way: an allocation failed, or the loop has stopped. Made
// without memory; NameIfLost then makes it a failure.
inline CallResult LostCall() { return {.response = {.status = 0}}; }
void NameIfLost(CallResult& result);

// So that what arrives needs no memory. reserve() as such makes room for just so many, again for each.
inline void MakeRoomFor(std::vector<CallSet::Arrival>& arrivals, std::size_t size) {
  if (arrivals.capacity() < size) arrivals.reserve(std::max(size, 2 * arrivals.capacity()));
}

// Cancel, Send and SetPaused are thread-safe. The rest belongs to the thread that works on the call: the caller's
// until a connection has it, then the one that drives that connection.
class ClientCall : public PendingCall, public std::enable_shared_from_this<ClientCall> {
 public:
  ClientCall(SharedRequest request, base::SteadyTime deadline);

  void Cancel() override;
  // As in net/tunnel.h.
  void Send(std::string bytes, std::function<void()> taken);
  void SetPaused(bool paused);
  bool paused() const { return paused_; }

  // Ends the call with what has come. False if that is a redirect which is to be followed: then
  // `request` and `url` say where.
  bool Answer(Response response);
  // Ends the call. With the texts of Go: `cause` is wrapped as http.Client.Do wraps it, unless the
  // answer's head has been received already.
  void Fail(CallPhase phase, std::string cause);

  // The request to send now; changes with redirects.
  SharedRequest request;
  RequestBody body;
  std::shared_ptr<const PreparedRequest> prepared;  // null until its URL has been found good
  const Url& url() const { return prepared->url; }  // REQUIRES: prepared
  base::SteadyTime deadline;                        // changes when an upgrade has been answered
  std::shared_ptr<Loop> loop;  // that is to carry it, from whose thread it is begun; null: any
  std::size_t max_response_bytes = 0;  // of the request, else of the client; 0: no limit

  // Filled in while the call is under way.
  CallResult result;

  bool is_too_large = false;  // the body that makes it fail

  // What an I/O thread drives for this call: there it can be cancelled.
  void SetCarrier(std::weak_ptr<CallCarrier> carrier);

  int refusals = 0;  // how many times a connection has handed it back untouched

 private:
  // What has come of it: once, on the thread that works on the call. Who is called here must hear of a call
  // that is dropped as well.
  virtual void Deliver(CallResult outcome) = 0;
  enum class Redirect { kNone, kFollow, kFailed };
  Redirect CheckRedirect(const Response& response);
  void Settle();
  // Runs `task` with the carrier, if there is one, on its loop.
  template <typename Task>
  void AtCarrier(Task task);

  const base::SteadyTime started_;
  const std::string first_method_;
  int redirects_ = 0;
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> paused_{false};

  std::mutex mutex_;
  std::weak_ptr<CallCarrier> carrier_;
};

}  // namespace portcullis::net::internal
