// SPDX-License-Identifier: Apache-2.0

#include "store/cache/listeners.h"

#include <algorithm>

namespace portcullis::store {

void Listener::Call() {
  base::MutexLock lock(call_mutex_);
  if (!closed_) ready_();
}

void Listener::Close() {
  base::MutexLock lock(call_mutex_);
  closed_ = true;
}

void Listeners::Add(const CollectionState* collection, std::string_view ns,
                    const ListenerPtr& listener) {
  Bucket& bucket = buckets_[Change(collection, ns)];
  listener->index_ = bucket.listeners.size();
  bucket.listeners.push_back(listener);
}

void Listeners::Remove(const CollectionState* collection, std::string_view ns,
                       const Listener& listener) {
  const auto found = buckets_.find(Change(collection, ns));
  std::vector<ListenerPtr>& listeners = found->second.listeners;
  listeners.back()->index_ = listener.index_;
  std::swap(listeners[listener.index_], listeners.back());
  listeners.pop_back();
  if (!listeners.empty()) return;
  std::erase(marked_, &found->second);
  buckets_.erase(found);
}

bool Listeners::Mark(Bucket& bucket) {
  if (std::exchange(bucket.is_marked, true)) return false;
  marked_.push_back(&bucket);
  next_ = std::min(next_, bucket.rests_until);
  return true;
}

bool Listeners::Mark(const Change& change) {
  bool marked = false;
  if (const auto all = buckets_.find(Change(change.first, "")); all != buckets_.end()) {
    marked = Mark(all->second);
  }
  if (change.second.empty()) return marked;
  if (const auto own = buckets_.find(change); own != buckets_.end()) {
    marked = Mark(own->second) || marked;
  }
  return marked;
}

bool Listeners::MarkAll() {
  bool marked = false;
  for (auto& [change, bucket] : buckets_) marked = Mark(bucket) || marked;
  return marked;
}

std::size_t Listeners::TakeArmed(const Bucket& bucket, std::vector<ListenerPtr>& due) {
  const std::size_t before = due.size();
  for (const ListenerPtr& listener : bucket.listeners) {
    if (listener->Disarm()) due.push_back(listener);
  }
  return due.size() - before;
}

void Listeners::Due(base::SteadyTime now, std::vector<ListenerPtr>& due) {
  next_ = base::SteadyTime::max();
  std::erase_if(marked_, [&](Bucket* bucket) {
    if (now < bucket->rests_until) {
      next_ = std::min(next_, bucket->rests_until);
      return false;
    }
    bucket->is_marked = false;
    const auto rest = std::min<std::chrono::microseconds>(
        kRestPerListener * TakeArmed(*bucket, due), kLongestRest);
    if (rest >= kShortestRest) bucket->rests_until = now + rest;
    return true;
  });
}

}  // namespace portcullis::store
