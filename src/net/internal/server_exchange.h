// SPDX-License-Identifier: Apache-2.0

// ServerExchange is the Exchange that handlers get: thread-safe on the outside, it carries every
// call to the loop of its connection and there to the session.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "net/internal/server_connection.h"
#include "net/server.h"

namespace portcullis::net::internal {

class ServerExchange final : public Exchange, public std::enable_shared_from_this<ServerExchange> {
 public:
  struct Origin {
    std::shared_ptr<ServerConnection> connection;
    int stream = 0;
    Protocol protocol = Protocol::kHttp11;
    bool body_complete = true;
    bool body_too_large = false;
    base::SteadyTime received_at;
  };

  // On the loop's thread.
  ServerExchange(Origin origin, Request request);
  ~ServerExchange() override;

  const Request& request() const override { return request_; }
  bool body_complete() const override { return body_complete_; }
  void ReadBody(BodyRequest request, std::function<void(BodyRead)> fn) override;
  void RunOnIoThread(std::function<void()> fn) override;
  void RunOnFiber(std::function<void()> fn) override;
  std::string TakeBody() override { return std::move(request_.body); }
  void Attach(std::shared_ptr<void> object) override { attached_ = std::move(object); }
  void MarkKnown() override { origin_.connection->MarkKnown(); }
  void SetDeadline(base::SteadyTime deadline) override { deadline_ = deadline; }
  bool body_too_large() const override { return body_too_large_; }
  Protocol protocol() const override { return origin_.protocol; }
  bool secure() const override { return origin_.connection->secure(); }
  const std::string& remote_address() const override {
    return origin_.connection->remote_address();
  }
  std::shared_ptr<const ClientCertificate> client_certificate() const override {
    return certificate_;
  }
  base::SteadyTime received_at() const override { return origin_.received_at; }

  void Respond(Response response) override;
  void Start(ResponseHead head) override;
  void Write(std::string chunk) override;
  void Write(std::shared_ptr<const std::string> chunk) override;
  void Finish() override;
  void StartWebSocket(WebSocketAnswer handshake) override;
  void StartTunnel(std::function<void(std::string_view)> on_bytes);
  void ReadMore();
  void Abort() override;
  std::size_t buffered_bytes() const override { return buffered_; }
  bool closed() const override { return closed_; }
  void OnClosed(std::function<void()> fn) override;
  void OnDrained(std::function<void()> fn) override;

  // For sessions, on the loop's thread.
  int stream() const { return origin_.stream; }
  void Released(std::size_t bytes);  // of what was written, the socket has taken so many
  void PeerGone();                   // the client went before the answer was complete
  void Completed();                  // the answer is complete; no callbacks any more
  bool finished() const { return answered_; }
  base::SteadyTime deadline() const { return deadline_; }
  // The room for a body that the handler wants; false: the session's ReadBody is called again when
  // there is some, or the body is refused.
  bool ReserveBody(std::size_t bytes);
  void SetBody(std::string body);  // it is complete
  void EndBody(BodyRead outcome);  // it will not be
  // The wait for a body that has not come, or found no room, is over; to be told by EndBody.
  bool BodyIsOverdue(base::SteadyTime now) const;
  void EndOverdueBody() { EndBody(has_room_ ? BodyRead::kTimedOut : BodyRead::kRefused); }
  bool wants_body() const;

 private:
  // kAtOnce: on this thread if the loop sleeps. What the action calls back must then be fit to run
  // on the handler's thread, under whatever locks that holds: whole answers are, writes are not.
  enum class When { kSoon, kAtOnce };
  template <typename F>
  void OnLoop(F action, When when = When::kSoon);

  // What is known of the body already; if that is nothing, both are kept until it is.
  std::optional<BodyRead> AwaitBody(BodyRequest& request, std::function<void(BodyRead)>& fn);
  std::function<void(BodyRead)> TakeBodyCallback() PC_REQUIRES(mutex_);

  const Origin origin_;
  const std::shared_ptr<const ClientCertificate> certificate_;
  Request request_;
  std::shared_ptr<void> attached_;
  std::atomic<base::SteadyTime> deadline_{base::SteadyTime::max()};
  std::atomic<bool> body_complete_;
  std::atomic<bool> body_too_large_;
  std::unique_ptr<BodyBudget::Ticket> room_;  // of the loop's thread
  bool has_room_ = false;                     // likewise
  std::atomic<bool> answered_{false};         // no more calls from the handler are taken
  std::atomic<bool> closed_{false};
  std::atomic<std::size_t> buffered_{0};
  std::atomic<int> posted_{0};  // calls on their way to the loop; later ones must not overtake

  mutable base::Mutex mutex_;
  std::function<void()> on_closed_ PC_GUARDED_BY(mutex_);
  std::shared_ptr<const std::function<void()>> on_drained_ PC_GUARDED_BY(mutex_);
  std::function<void(BodyRead)> on_body_ PC_GUARDED_BY(mutex_);
  BodyRequest body_request_ PC_GUARDED_BY(mutex_);
  bool peer_gone_ PC_GUARDED_BY(mutex_) = false;
};

}  // namespace portcullis::net::internal
