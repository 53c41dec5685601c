// SPDX-License-Identifier: Apache-2.0

// Dispatcher takes each HTTP request from the network to its answer: authentication, audit,
// impersonation, a seat, authorization, the body, and the verb; then warnings, compression and
// metrics. A small request runs on the I/O thread of its connection: no thread switch, and no thread
// waits for its commit. If it may call webhooks, it runs there on a fiber (base/fiber.h), which is
// left while it waits for them. Every other request runs on a worker, which may wait. A seat that is
// not free, a body that has not come along with the head, and a store that has to catch up with
// other servers are waited for without a thread. ARCHITECTURE.md follows one request through it.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "admission/asks_outside.h"
#include "base/mutex.h"
#include "engine/write/execution.h"
#include "net/server.h"
#include "server/call.h"
#include "server/environment.h"
#include "server/router.h"
#include "server/seats.h"
#include "server/worker_pool.h"

namespace portcullis::server {

class Dispatcher final : private SeatReceiver {
 public:
  // `env` outlives it. There are as many threads as there are seats, and more for those that wait
  // for webhooks: if one hangs, requests that do not call it find a thread and a seat.
  explicit Dispatcher(const Environment& env);
  // Waits for the requests under way. REQUIRES: env.seats is closed, and so are the connections of
  // those whose bodies are awaited; the I/O threads and the store still run.
  ~Dispatcher() override;

  // On the I/O thread of the exchange's connection. Runs the request there, or queues it.
  void Handle(const std::shared_ptr<net::Exchange>& exchange);

 private:
  // Counts a request on an I/O thread that waits for its commit, its store or for calls, to its end.
  class Flight;

  // Whether the head allows the call to begin on an I/O thread.
  static bool FitsIoThread(const Call& call);
  // What it may wait for as far as it is known now; kOnThread also if it may take long.
  static admission::Waits WaitsOf(const Call& call);
  // Whether the call has to see what other servers have acknowledged before it came.
  bool NeedsFreshening(const Call& call) const;
  // Whether it may begin all the same, as a write under the rules that the store has
  // (store::Change::rules_revision). What comes of it counts if etcd has found in the transaction of
  // the write that these are the newest; else see Confirm().
  bool MayAssume(const Call& call) const;
  // Waits until the store has caught up, then runs `next` on the I/O thread.
  void Freshen(const std::shared_ptr<Call>& call, std::function<void()> next);
  // Serves such a call when the store has caught up, from the beginning if other rules hold by now.
  void Confirm(const std::shared_ptr<Call>& call);
  // The end of a call, if Confirm() need not come before.
  void Answer(const std::shared_ptr<Call>& call, Reply reply);
  void BeginOrQueue(const std::shared_ptr<Call>& call);
  void Queue(const std::shared_ptr<Call>& call);
  void Begin(std::shared_ptr<Call> call);
  // What the head alone decides, before there is a seat. `instead` is the answer of a request that
  // goes no further without having failed.
  static base::Status CheckHead(Call& call, std::optional<Reply>& instead);
  void TakeSeat(std::shared_ptr<Call> call);
  void OnSeat(std::shared_ptr<Call> call, bool taken) override;
  // The request has its seat, or needs none.
  void Enter(std::shared_ptr<Call> call);
  void ReadBody(std::shared_ptr<Call> call);
  void Resume(const std::shared_ptr<Call>& call, net::BodyRead outcome);
  void Serve(const std::shared_ptr<Call>& call);
  void RunOnIoThread(const std::shared_ptr<Call>& call, rest::Verb verb);
  void RunOnFiber(const std::shared_ptr<Call>& call, rest::Verb verb);
  // A part of the call, up to the end or the next commit. `step` may hold the last flight.
  void StepOnFiber(const std::shared_ptr<Call>& call, std::function<void()> step);
  // Runs a write from commit to commit, each time through `resume`.
  void BeginWrite(std::shared_ptr<Flight> flight, const std::shared_ptr<Call>& call,
                  engine::Resume resume);
  void RunOnWorker(const std::shared_ptr<Call>& call, rest::Verb verb);
  void FinishOnIoThread(const std::shared_ptr<Call>& call, Reply reply);

  const Environment& env_;
  // Those that wait for authentication by another server do not keep the others out.
  std::atomic<int>& LineOf(const Call& call) {
    return call.would_wait ? authenticating_ : entering_;
  }

  std::atomic<int> entering_{0};  // queued, or not as far as their seats
  std::atomic<int> authenticating_{0};
  base::Mutex mutex_;
  base::CondVar landed_;
  std::size_t flights_ PC_GUARDED_BY(mutex_) = 0;
  WorkerPool pool_;
};

}  // namespace portcullis::server
