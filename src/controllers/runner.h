// SPDX-License-Identifier: Apache-2.0

// ControllerRunner drives one controller: hears the store, keeps the queue, runs Reconcile on a
// thread of its own. Keys that failed or asked to be seen again come back after their time. First come,
// first served: a key that comes back all the time keeps no other one waiting.
//
// Thread-safe.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "controllers/controller.h"
#include "store/store.h"

namespace portcullis::controllers {

class ControllerRunner final : public store::Observer {
 public:
  // `info`, `context` and `store` (the one that the context reads) outlive the runner.
  ControllerRunner(const ControllerInfo& info, const ControllerContext& context,
                   store::Store& store);
  ~ControllerRunner() override;

  void Start();
  // Returns at once: no other key is reconciled.
  void BeginStop();
  // Returns when the thread has ended; a Reconcile under way is finished first.
  void Stop();

  // Returns when `key`, if it waits or is being worked on, has been reconciled; or at the deadline,
  // or once the runner stops. Not from the runner's own thread.
  void Await(const std::string& key, base::SteadyTime deadline);

  void OnCommit(std::span<const store::EventPtr> events) override;

 private:
  void Run();
  void Add(std::string key);
  void Queue(std::string key) PC_REQUIRES(mutex_);
  // Queues those whose time has come.
  void QueueDue() PC_REQUIRES(mutex_);

  void AddExisting();
  // Unless the object is hidden from the controller.
  void Tell(const store::Event& event);
  void SetDue(const std::string& key, std::optional<base::Duration> wait) PC_REQUIRES(mutex_);

  const ControllerInfo& info_;
  const ControllerContext& context_;
  const std::unique_ptr<Controller> controller_;
  store::Store& store_;
  std::unique_ptr<store::Subscription> subscription_;
  std::thread thread_;

  base::Mutex mutex_;
  base::CondVar wake_;
  base::CondVar reconciled_;
  std::deque<std::string> queue_ PC_GUARDED_BY(mutex_);
  std::set<std::string> ready_ PC_GUARDED_BY(mutex_);         // those of the queue
  std::optional<std::string> current_ PC_GUARDED_BY(mutex_);  // being worked on
  // One entry a key: what it asked for the last time.
  std::set<std::pair<base::SteadyTime, std::string>> later_ PC_GUARDED_BY(mutex_);
  std::map<std::string, base::SteadyTime> due_ PC_GUARDED_BY(mutex_);
  bool stopping_ PC_GUARDED_BY(mutex_) = false;
};

}  // namespace portcullis::controllers
