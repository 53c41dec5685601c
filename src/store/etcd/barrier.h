// SPDX-License-Identifier: Apache-2.0

// Barrier finds out how far the cache has to be for a reader to see every write that any server has
// acknowledged by now: it asks etcd for its revision by a linearizable read of one key. Requests
// share these reads: at most one is under way, and those who come meanwhile wait for the next one,
// which begins after they came. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "etcd/client.h"
#include "store/etcd/revision_waiters.h"

namespace portcullis::store {

class Barrier {
 public:
  using Done = std::function<void(base::Status)>;
  // Calls back when the cache has reached the revision. `known` was reached when etcd was asked.
  using WaitFor = std::function<void(std::int64_t known, std::int64_t revision,
                                     base::SteadyTime deadline, Done done)>;

  // `client` and `waiters` outlive it; it is destroyed when no read is under way. `key` need not exist.
  Barrier(etcd::Client& client, std::string key, const RevisionWaiters& waiters, WaitFor wait_for);

  // Calls `done` once, on the client's loop, where `wait_for` calls back, or in Expire().
  void Wait(base::SteadyTime deadline, Done done) PC_EXCLUDES(mutex_);
  // Ends those whose deadline has passed while etcd has not told the revision.
  void Expire(base::SteadyTime now) PC_EXCLUDES(mutex_);

 private:
  struct Waiter {
    base::SteadyTime deadline;
    Done done;
  };
  using Waiters = std::vector<Waiter>;
  void Read(base::SteadyTime deadline);
  void OnRead(std::int64_t known, const base::Result<etcd::RangeResponse>& response)
      PC_EXCLUDES(mutex_);
  // Makes those who wait for the next read wait for this one; until when it may take.
  base::SteadyTime BeginNext() PC_REQUIRES(mutex_);

  etcd::Client& client_;
  const std::string key_;
  const RevisionWaiters& waiters_;
  const WaitFor wait_for_;
  base::Mutex mutex_;
  bool is_reading_ PC_GUARDED_BY(mutex_) = false;
  Waiters present_ PC_GUARDED_BY(mutex_);  // of the read under way
  Waiters next_ PC_GUARDED_BY(mutex_);
};

}  // namespace portcullis::store
