// SPDX-License-Identifier: Apache-2.0

#include "store/etcd/lease_manager.h"

#include <algorithm>
#include <utility>

#include "store/etcd/errors.h"

namespace portcullis::store {
namespace {

constexpr std::int64_t kReuseShare = 20;  // 5 %

}  // namespace

LeaseManager::LeaseManager(etcd::Client& client, const base::Clock& clock, std::int64_t ttl_seconds,
                           std::int64_t reuse_seconds)
    : client_(client),
      clock_(clock),
      ttl_(ttl_seconds),
      extra_(std::min(ttl_seconds / kReuseShare, reuse_seconds)) {}

void LeaseManager::Get(base::SteadyTime deadline, Done done) {
  const base::SteadyTime now = clock_.Steady();
  std::int64_t lease = 0;
  {
    base::MutexLock lock(mutex_);
    if (lease_ != 0 && now + ttl_ < expires_ && objects_ < kMostObjects) {
      ++objects_;
      lease = lease_;
    } else {
      waiting_.push_back(std::move(done));
      if (std::exchange(asking_, true)) return;
    }
  }
  if (lease != 0) return done(lease);
  client_.LeaseGrant((ttl_ + extra_).count(), deadline,
                     [this, now](const base::Result<etcd::LeaseGrantResponse>& granted) {
                       OnGranted(now, granted);
                     });
}

void LeaseManager::OnGranted(base::SteadyTime asked,
                             const base::Result<etcd::LeaseGrantResponse>& granted) {
  std::vector<Done> waiting;
  {
    base::MutexLock lock(mutex_);
    waiting.swap(waiting_);
    asking_ = false;
    if (granted.ok()) {
      lease_ = granted->id;
      expires_ = asked + ttl_ + extra_;
      objects_ = static_cast<int>(waiting.size());
    }
  }
  for (Done& done : waiting) {
    granted.ok() ? done(granted->id) : done(StoreError(granted.status()));
  }
}

}  // namespace portcullis::store
