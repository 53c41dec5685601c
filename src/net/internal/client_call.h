// ClientCall is one call of an HttpsClient from beginning to end, over as many connections and
// redirects as it takes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "net/client.h"
#include "net/internal/loop.h"
#include "net/url.h"

namespace portcullis::net::internal {

class ClientConnection;
class ClientCore;

// Thread-safe: Wait, done, Cancel, Complete, Fail. The rest belongs to the thread that is working
// on the call: the caller's until a connection has it, then that connection's loop.
class ClientCall final : public PendingCall, public std::enable_shared_from_this<ClientCall> {
 public:
  ClientCall(std::weak_ptr<ClientCore> core, ClientRequest request, base::SteadyTime deadline,
             HttpsClient::Done done);

  CallResult Wait() override;
  bool done() const override { return done_; }
  void Cancel() override;

  void Complete(Response response);
  // With the texts of Go: `cause` is wrapped as http.Client.Do wraps it, unless the answer's head
  // has been received already.
  void Fail(CallPhase phase, std::string cause);
  // Prepares the next request if the answer is a redirect that is to be followed. False if not.
  bool FollowRedirect(const Response& response);

  // The request to send now; changes with redirects.
  ClientRequest request;
  Url url;
  base::SteadyTime deadline;
  int redirects = 0;
  bool wants_gzip = false;  // we have asked for it and decode it

  // Filled in while the call is under way.
  CallResult result;

  void SetConnection(std::weak_ptr<ClientConnection> connection);

 private:
  void Settle();

  const std::weak_ptr<ClientCore> core_;
  const base::SteadyTime started_;
  std::string first_method_;
  HttpsClient::Done callback_;
  std::atomic<bool> settling_{false};
  std::atomic<bool> done_{false};
  std::atomic<bool> cancelled_{false};

  std::mutex mutex_;
  std::condition_variable condition_;
  std::weak_ptr<ClientConnection> connection_;
};

}  // namespace portcullis::net::internal
