// Dispatcher takes each HTTP request from the network to its answer, on a worker: authentication,
// audit, impersonation, a seat, authorization, the body, and the verb; then warnings, compression
// and metrics. A seat that is not free and a body that has not come along with the head are waited
// for without a worker. ARCHITECTURE.md follows one request through it.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "net/server.h"
#include "server/call.h"
#include "server/environment.h"
#include "server/seats.h"
#include "server/worker_pool.h"

namespace portcullis::server {

class Dispatcher final : private SeatReceiver {
 public:
  // `env` outlives it. There are as many threads as there are seats, and more for those that wait
  // for webhooks: if one hangs, requests that do not call it find a thread and a seat.
  explicit Dispatcher(const Environment& env);
  // Waits for the requests under way. REQUIRES: env.seats is closed, and so are the connections of
  // those whose bodies are awaited.
  ~Dispatcher() override = default;

  // On an I/O thread: queues the request.
  void Handle(std::shared_ptr<net::Exchange> exchange);

 private:
  void Begin(std::shared_ptr<net::Exchange> exchange);
  // What the head alone decides, before there is a seat. `instead` is the answer of a request that
  // goes no further without having failed.
  static base::Status CheckHead(Call& call, std::optional<Reply>& instead);
  void TakeSeat(std::shared_ptr<Call> call);
  void OnSeat(std::shared_ptr<Call> call, bool taken) override;
  // The request has its seat, or needs none.
  void Enter(std::shared_ptr<Call> call);
  void ReadBody(std::shared_ptr<Call> call);
  void Resume(Call& call, net::BodyRead outcome);
  static void Serve(Call& call);

  const Environment& env_;
  std::atomic<int> entering_{0};  // queued, or not as far as their seats
  WorkerPool pool_;
};

}  // namespace portcullis::server
