// SPDX-License-Identifier: Apache-2.0

// LeaseManager gives objects that expire an etcd lease. Objects that are written one after the other
// share one, as kube-apiserver has it (its etcd3 storage, lease_manager.go): a lease lives
// 5 % longer than the objects, at most `reuse_seconds`, and serves that long, for at most 1000
// objects. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "etcd/client.h"

namespace portcullis::store {

class LeaseManager {
 public:
  using Done = std::function<void(base::Result<std::int64_t> lease)>;

  // `client` and `clock` outlive it; it is destroyed when no call is under way.
  LeaseManager(etcd::Client& client, const base::Clock& clock, std::int64_t ttl_seconds,
               std::int64_t reuse_seconds);

  // Calls `done` once: here if there is a lease, else on the client's loop.
  void Get(base::SteadyTime deadline, Done done) PC_EXCLUDES(mutex_);

 private:
  static constexpr int kMostObjects = 1000;
  void OnGranted(base::SteadyTime asked, const base::Result<etcd::LeaseGrantResponse>& granted)
      PC_EXCLUDES(mutex_);

  etcd::Client& client_;
  const base::Clock& clock_;
  const std::chrono::seconds ttl_;
  const std::chrono::seconds extra_;
  base::Mutex mutex_;
  std::int64_t lease_ PC_GUARDED_BY(mutex_) = 0;
  base::SteadyTime expires_ PC_GUARDED_BY(mutex_);
  int objects_ PC_GUARDED_BY(mutex_) = 0;
  bool asking_ PC_GUARDED_BY(mutex_) = false;
  std::vector<Done> waiting_ PC_GUARDED_BY(mutex_);
};

}  // namespace portcullis::store
