// SPDX-License-Identifier: Apache-2.0

// RevisionWaiters knows which revision the cache has reached, and holds what goes on as soon as it has
// reached another one. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"

namespace portcullis::store {

class RevisionWaiters {
 public:
  using Done = std::function<void(base::Status)>;

  explicit RevisionWaiters(std::int64_t reached) : reached_(reached) {}

  // Calls `done` once, with no lock held: with OK in the call of Reached() that reaches `revision`,
  // or here if that has been; or with an error in Expire() or Close().
  void Add(std::int64_t revision, base::SteadyTime deadline, Done done) PC_EXCLUDES(mutex_);
  void Reached(std::int64_t revision) PC_EXCLUDES(mutex_);
  std::int64_t reached() const PC_EXCLUDES(mutex_);
  // etcd has been set back to an older state than `known`, so nothing is reached until Reached() is called
  // again. Those who wait get an error. False, and nothing is done: that has been noticed already.
  bool Forget(std::int64_t known) PC_EXCLUDES(mutex_);
  // Ends those whose deadline has passed.
  void Expire(base::SteadyTime now) PC_EXCLUDES(mutex_);
  // Ends all, and those that are added later.
  void Close() PC_EXCLUDES(mutex_);

 private:
  struct Waiter {
    base::SteadyTime deadline;
    Done done;
  };

  mutable base::Mutex mutex_;
  std::int64_t reached_ PC_GUARDED_BY(mutex_);
  bool closed_ PC_GUARDED_BY(mutex_) = false;
  std::multimap<std::int64_t, Waiter> waiters_ PC_GUARDED_BY(mutex_);  // by revision
};

}  // namespace portcullis::store
