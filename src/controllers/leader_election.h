// SPDX-License-Identifier: Apache-2.0

// LeaderElection lets one of several servers do a piece of work: the holder of a Lease in
// kube-system. Follows client-go's leader election: the holder renews the Lease; a server that has
// seen no renewal for the Lease's duration, by its own clock, takes it over; a holder that cannot
// renew it in time stops its work before that.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "controllers/client.h"
#include "json/value.h"
#include "store/store.h"

namespace portcullis::controllers {

// Of kube-controller-manager's flags --leader-elect-*.
struct ElectionSettings {
  std::string lease;     // its name
  std::string identity;  // of this server, different for each process
  std::chrono::seconds duration{15};
  std::chrono::seconds renew_deadline{10};
  std::chrono::seconds retry{2};
};

class LeaderElection {
 public:
  // `start` and `stop` begin and end the work, on a thread of the election, in turn. All others outlive
  // the election.
  LeaderElection(ElectionSettings settings, Client& client, const store::Reader& store,
                 const base::Clock& clock, std::function<void()> start, std::function<void()> stop);
  ~LeaderElection();

  void Start();
  // Ends the work, if this server does it, and gives the Lease up for the next one.
  void Stop() PC_EXCLUDES(mutex_);

  // One attempt to hold the Lease: what the thread does every `retry`. True: this server holds it.
  // For tests, without Start().
  bool Try();

 private:
  void Run() PC_EXCLUDES(mutex_);
  // Lets the work go on as long as the Lease has been renewed in time, also while an attempt waits.
  void Work() PC_EXCLUDES(mutex_);
  void Release();
  base::Status Write(const store::Object* current, json::Arena& arena, json::Value spec);

  const ElectionSettings settings_;
  Client& client_;
  const store::Reader& store_;
  const base::Clock& clock_;
  const std::function<void()> start_;
  const std::function<void()> stop_;

  // The thread's.
  std::int64_t observed_revision_ = 0;  // of the Lease as it was last seen …
  base::SteadyTime observed_at_;        // … and since when it has been so

  base::Mutex mutex_;
  base::CondVar wake_;
  base::SteadyTime work_until_ PC_GUARDED_BY(mutex_);  // unless the Lease is renewed before
  bool stopping_ PC_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace portcullis::controllers
