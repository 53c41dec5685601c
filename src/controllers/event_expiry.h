// SPDX-License-Identifier: Apache-2.0

// EventExpiry deletes Events some time after their last write (--event-ttl), whatever finalizers
// they have and without admission, as the leases do that kube-apiserver attaches to them in etcd:
// an Event goes between its time and a twentieth of it later, watches see it DELETED, and a restart
// counts the time anew for those that are there.
//
// Time goes by the injected clock's steady time, so that a jump of the wall clock does nothing.
// A thread looks every now and then; writes only note their time. Thread-safe.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "base/clock.h"
#include "base/mutex.h"
#include "store/store.h"

namespace portcullis::controllers {

class EventExpiry final : public store::Observer {
 public:
  // References outlive it. REQUIRES: ttl > 0.
  EventExpiry(store::Store& store, const base::Clock& clock, base::Duration ttl);
  ~EventExpiry() override;

  // Begins to note what is written.
  void Watch();
  // That, and a thread that sweeps.
  void Start();
  // Deletes what has expired by now; what the store cannot do is tried again by the next call.
  void Sweep() PC_EXCLUDES(mutex_);

  void OnCommit(std::span<const store::EventPtr> events) override;

 private:
  struct Item {
    base::SteadyTime expires;
    std::int64_t revision = 0;
    std::string ns;
    std::string name;
  };
  using Items = std::list<Item>;

  void Run();
  void Note(const store::Object& object) PC_REQUIRES(mutex_);
  // Some of the expired, oldest first.
  std::vector<Item> Expired() PC_EXCLUDES(mutex_);

  store::Store& store_;
  const base::Clock& clock_;
  const base::Duration ttl_;

  base::Mutex mutex_;
  base::CondVar wake_;
  bool stopping_ PC_GUARDED_BY(mutex_) = false;
  Items items_ PC_GUARDED_BY(mutex_);  // in the order in which they expire
  std::unordered_map<std::string, Items::iterator> places_ PC_GUARDED_BY(mutex_);  // by position

  std::thread thread_;
  std::unique_ptr<store::Subscription> subscription_;  // last: ends before the rest
};

}  // namespace portcullis::controllers
