// SPDX-License-Identifier: Apache-2.0

#include "store/etcd/revision_waiters.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "store/etcd/errors.h"

namespace portcullis::store {

void RevisionWaiters::Add(std::int64_t revision, base::SteadyTime deadline, Done done) {
  bool closed = false;
  {
    base::MutexLock lock(mutex_);
    closed = closed_;
    if (!closed && revision > reached_) {
      waiters_.emplace(revision, Waiter{deadline, std::move(done)});
      return;
    }
  }
  done(closed ? RequestTimedOut() : base::OkStatus());
}

void RevisionWaiters::Reached(std::int64_t revision) {
  std::vector<Waiter> due;
  {
    base::MutexLock lock(mutex_);
    reached_ = std::max(reached_, revision);
    const auto end = waiters_.upper_bound(reached_);
    for (auto it = waiters_.begin(); it != end; ++it) due.push_back(std::move(it->second));
    waiters_.erase(waiters_.begin(), end);
  }
  for (Waiter& waiter : due) waiter.done(base::OkStatus());
}

void RevisionWaiters::Expire(base::SteadyTime now) {
  std::vector<Waiter> due;
  {
    base::MutexLock lock(mutex_);
    std::erase_if(waiters_, [&](auto& entry) {
      if (entry.second.deadline > now) return false;
      due.push_back(std::move(entry.second));
      return true;
    });
  }
  for (Waiter& waiter : due) waiter.done(RequestTimedOut());
}

void RevisionWaiters::Close() {
  {
    base::MutexLock lock(mutex_);
    closed_ = true;
  }
  Expire(base::SteadyTime::max());
}

std::int64_t RevisionWaiters::reached() const {
  base::MutexLock lock(mutex_);
  return reached_;
}

bool RevisionWaiters::Forget(std::int64_t known) {
  {
    base::MutexLock lock(mutex_);
    if (reached_ < known) return false;
    reached_ = 0;
  }
  Expire(base::SteadyTime::max());
  return true;
}

}  // namespace portcullis::store
