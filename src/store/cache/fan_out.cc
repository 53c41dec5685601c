// SPDX-License-Identifier: Apache-2.0

#include "store/cache/fan_out.h"

#include <algorithm>
#include <utility>

#include "base/memory_reserve.h"

namespace portcullis::store {

FanOut::~FanOut() {
  std::thread thread;
  {
    base::MutexLock lock(mutex_);
    stopping_ = true;
    thread.swap(thread_);
  }
  changed_.NotifyAll();
  if (thread.joinable()) thread.join();
}

void FanOut::Listener::Call() {
  base::MutexLock lock(call_mutex_);
  if (!closed_) ready_();
}

void FanOut::Listener::Close() {
  base::MutexLock lock(call_mutex_);
  closed_ = true;
}

void FanOut::Add(const CollectionState* collection, std::string_view ns,
                 const std::shared_ptr<Listener>& listener) {
  base::MutexLock lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  Bucket& bucket = buckets_[Change(collection, ns)];
  listener->index_ = bucket.size();
  bucket.push_back(listener);
  listeners_.fetch_add(1, std::memory_order_seq_cst);
}

void FanOut::Remove(const CollectionState* collection, std::string_view ns, Listener& listener) {
  {
    base::MutexLock lock(mutex_);
    auto it = buckets_.find(Change(collection, ns));
    Bucket& bucket = it->second;
    bucket.back()->index_ = listener.index_;
    std::swap(bucket[listener.index_], bucket.back());
    bucket.pop_back();
    if (bucket.empty()) buckets_.erase(it);
    listeners_.fetch_sub(1, std::memory_order_seq_cst);
  }
  listener.Close();
}

void FanOut::Announce(std::vector<Change> changes) {
  {
    base::MutexLock lock(mutex_);
    std::move(changes.begin(), changes.end(), std::back_inserter(pending_));
  }
  changed_.NotifyOne();
}

void FanOut::AnnounceAll() {
  {
    base::MutexLock lock(mutex_);
    all_ = true;
  }
  changed_.NotifyOne();
}

void FanOut::Wake(std::shared_ptr<Listener> listener) {
  {
    base::MutexLock lock(mutex_);
    woken_.push_back(std::move(listener));
  }
  changed_.NotifyOne();
}

void FanOut::TakeArmed(const Bucket& bucket, Bucket& due) {
  for (const auto& listener : bucket) {
    if (listener->Disarm()) due.push_back(listener);
  }
}

FanOut::Bucket FanOut::Due() {
  Bucket due;
  due.swap(woken_);
  for (const auto& listener : due) listener->Disarm();
  if (std::exchange(all_, false)) {
    for (const auto& [change, bucket] : buckets_) TakeArmed(bucket, due);
  }
  // Many commits may have gathered meanwhile; each bucket is looked at once.
  std::sort(pending_.begin(), pending_.end());
  pending_.erase(std::unique(pending_.begin(), pending_.end()), pending_.end());
  const CollectionState* last = nullptr;
  for (const Change& change : pending_) {
    if (change.first != last) {
      last = change.first;
      if (auto it = buckets_.find(Change(last, "")); it != buckets_.end()) {
        TakeArmed(it->second, due);
      }
    }
    if (change.second.empty()) continue;
    if (auto it = buckets_.find(change); it != buckets_.end()) TakeArmed(it->second, due);
  }
  pending_.clear();
  return due;
}

void FanOut::Run() {
  const base::NeedsMemory needs;
  for (;;) {
    Bucket due;
    {
      base::MutexLock lock(mutex_);
      while (!stopping_ && !all_ && pending_.empty() && woken_.empty()) changed_.Wait(mutex_);
      if (stopping_) return;
      due = Due();
    }
    for (const auto& listener : due) listener->Call();
  }
}

}  // namespace portcullis::store
