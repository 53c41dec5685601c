// SPDX-License-Identifier: Apache-2.0

#include "store/etcd/barrier.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "store/etcd/errors.h"

namespace portcullis::store {

Barrier::Barrier(etcd::Client& client, std::string key, const RevisionWaiters& waiters,
                 WaitFor wait_for)
    : client_(client), key_(std::move(key)), waiters_(waiters), wait_for_(std::move(wait_for)) {}

void Barrier::Wait(base::SteadyTime deadline, Done done) {
  {
    base::MutexLock lock(mutex_);
    next_.push_back({deadline, std::move(done)});
    if (is_reading_) return;
    deadline = BeginNext();
  }
  Read(deadline);
}

base::SteadyTime Barrier::BeginNext() {
  is_reading_ = true;
  present_.swap(next_);
  base::SteadyTime deadline = base::SteadyTime::min();
  for (const Waiter& waiter : present_) deadline = std::max(deadline, waiter.deadline);
  return deadline;
}

void Barrier::Read(base::SteadyTime deadline) {
  etcd::RangeRequest request;
  request.key = key_;
  request.keys_only = true;
  client_.Range(
      std::move(request), deadline,
      [this, known = waiters_.reached()](const base::Result<etcd::RangeResponse>& response) {
        OnRead(known, response);
      });
}

void Barrier::OnRead(std::int64_t known, const base::Result<etcd::RangeResponse>& response) {
  Waiters waiters;
  std::optional<base::SteadyTime> next;
  {
    base::MutexLock lock(mutex_);
    waiters.swap(present_);
    is_reading_ = false;
    if (!next_.empty()) next = BeginNext();
  }
  if (next) Read(*next);
  for (Waiter& waiter : waiters) {
    if (!response.ok()) {
      waiter.done(StoreError(response.status()));
    } else {
      wait_for_(known, response->revision, waiter.deadline, std::move(waiter.done));
    }
  }
}

void Barrier::Expire(base::SteadyTime now) {
  Waiters due;
  {
    base::MutexLock lock(mutex_);
    for (Waiters* waiters : {&present_, &next_}) {
      std::erase_if(*waiters, [&](Waiter& waiter) {
        if (waiter.deadline > now) return false;
        due.push_back(std::move(waiter));
        return true;
      });
    }
  }
  for (Waiter& waiter : due) waiter.done(RequestTimedOut());
}

}  // namespace portcullis::store
