// Dispatcher takes each HTTP request from the network to its answer: limits, then on a worker
// request info, authentication, audit, impersonation, authorization, and the verb; then warnings,
// compression and metrics. ARCHITECTURE.md follows one request through it.
#pragma once

#include <atomic>
#include <memory>

#include "net/server.h"
#include "server/call.h"
#include "server/environment.h"
#include "server/worker_pool.h"

namespace portcullis::server {

class Dispatcher {
 public:
  // `env` outlives it. There are as many threads as requests may be under way, and more for those
  // that wait for webhooks: if one hangs, requests that do not call it find a thread and a place.
  explicit Dispatcher(const Environment& env);
  // Waits for the requests under way.
  ~Dispatcher() = default;

  // On an I/O thread: refuses at once what is over the limits, queues the rest.
  void Handle(std::shared_ptr<net::Exchange> exchange);
  // On the calling thread and past the limits: what the server asks of itself, also amid a request.
  void HandleHere(std::shared_ptr<net::Exchange> exchange);

 private:
  // How a request is counted against the limits while it is under way.
  enum class Lane { kReadOnly, kMutating, kLongRunning };
  static Lane LaneOf(const net::Request& request);

  class Seat;

  // `seat` may be null.
  void Process(std::shared_ptr<net::Exchange> exchange, Seat* seat);

  const Environment& env_;
  std::atomic<int> reading_{0};
  std::atomic<int> mutating_{0};
  std::atomic<int> waiting_{0};  // for webhooks; not counted in the two above
  WorkerPool pool_;
};

}  // namespace portcullis::server
