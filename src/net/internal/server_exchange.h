// ServerExchange is the Exchange that handlers get: thread-safe on the outside, it carries every
// call to the loop of its connection and there to the session.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
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
    bool body_too_large = false;
    base::SteadyTime received_at;
  };

  ServerExchange(Origin origin, Request request);
  ~ServerExchange() override;

  const Request& request() const override { return request_; }
  std::string TakeBody() override { return std::move(request_.body); }
  bool body_too_large() const override { return origin_.body_too_large; }
  Protocol protocol() const override { return origin_.protocol; }
  bool secure() const override { return origin_.connection->secure(); }
  const std::string& remote_address() const override {
    return origin_.connection->remote_address();
  }
  std::shared_ptr<const ClientCertificate> client_certificate() const override {
    return origin_.connection->client_certificate();
  }
  base::SteadyTime received_at() const override { return origin_.received_at; }

  void Respond(Response response) override;
  void Start(ResponseHead head) override;
  void Write(std::string chunk) override;
  void Write(std::shared_ptr<const std::string> chunk) override;
  void Finish() override;
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

 private:
  // kAtOnce: on this thread if the loop sleeps. What the action calls back must then be fit to run
  // on the handler's thread, under whatever locks that holds: whole answers are, writes are not.
  enum class When { kSoon, kAtOnce };
  template <typename F>
  void OnLoop(F action, When when = When::kSoon);

  const Origin origin_;
  Request request_;
  std::atomic<bool> answered_{false};  // no more calls from the handler are taken
  std::atomic<bool> closed_{false};
  std::atomic<std::size_t> buffered_{0};
  std::atomic<int> posted_{0};  // calls on their way to the loop; later ones must not overtake

  base::Mutex mutex_;
  std::function<void()> on_closed_ PC_GUARDED_BY(mutex_);
  std::function<void()> on_drained_ PC_GUARDED_BY(mutex_);
  bool peer_gone_ PC_GUARDED_BY(mutex_) = false;
};

}  // namespace portcullis::net::internal
