// SPDX-License-Identifier: Apache-2.0

#include "store/etcd/barrier.h"

#include <algorithm>
#include <utility>

#include "store/etcd/errors.h"

namespace portcullis::store {

Barrier::Barrier(etcd::Client& client, std::string key, WaitFor wait_for)
    : client_(client), key_(std::move(key)), wait_for_(std::move(wait_for)) {}

void Barrier::Wait(base::SteadyTime deadline, Done done) {
  Waiters waiters;
  {
    base::MutexLock lock(mutex_);
    next_.push_back({deadline, std::move(done)});
    if (std::exchange(reading_, true)) return;
    waiters.swap(next_);
  }
  Read(std::move(waiters));
}

void Barrier::Read(Waiters waiters) {
  const auto shared = std::make_shared<Waiters>(std::move(waiters));
  base::SteadyTime deadline = base::SteadyTime::min();
  for (const Waiter& waiter : *shared) deadline = std::max(deadline, waiter.deadline);
  etcd::RangeRequest request;
  request.key = key_;
  request.keys_only = true;
  client_.Range(std::move(request), deadline,
                [this, shared, deadline](const base::Result<etcd::RangeResponse>& response) {
                  OnRead(shared, deadline, response);
                });
}

void Barrier::OnRead(const std::shared_ptr<Waiters>& waiters, base::SteadyTime deadline,
                     const base::Result<etcd::RangeResponse>& response) {
  Waiters next;
  {
    base::MutexLock lock(mutex_);
    next.swap(next_);
    reading_ = !next.empty();
  }
  if (!next.empty()) Read(std::move(next));
  const auto answer = [waiters](const base::Status& status) {
    for (Waiter& waiter : *waiters) waiter.done(status);
  };
  if (!response.ok()) return answer(StoreError(response.status()));
  wait_for_(response->revision, deadline, answer);
}

}  // namespace portcullis::store
