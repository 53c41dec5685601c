// SPDX-License-Identifier: Apache-2.0

#include "store/cache/fan_out.h"

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

void FanOut::Add(const CollectionState* collection, std::string_view ns,
                 const ListenerPtr& listener) {
  base::MutexLock lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { Run(); });
  listeners_.Add(collection, ns, listener);
  count_.fetch_add(1, std::memory_order_seq_cst);
}

void FanOut::Remove(const CollectionState* collection, std::string_view ns, Listener& listener) {
  {
    base::MutexLock lock(mutex_);
    listeners_.Remove(collection, ns, listener);
    count_.fetch_sub(1, std::memory_order_seq_cst);
  }
  listener.Close();
}

void FanOut::Announce(const std::vector<Change>& changes) {
  bool marked = false;
  {
    base::MutexLock lock(mutex_);
    for (const Change& change : changes) marked = listeners_.Mark(change) || marked;
  }
  if (marked) changed_.NotifyOne();
}

void FanOut::AnnounceAll() {
  bool marked = false;
  {
    base::MutexLock lock(mutex_);
    marked = listeners_.MarkAll();
  }
  if (marked) changed_.NotifyOne();
}

void FanOut::Wake(ListenerPtr listener) {
  {
    base::MutexLock lock(mutex_);
    woken_.push_back(std::move(listener));
  }
  changed_.NotifyOne();
}

void FanOut::Run() {
  const base::NeedsMemory needs;
  std::vector<ListenerPtr> due;
  for (;;) {
    due.clear();
    {
      base::MutexLock lock(mutex_);
      while (!stopping_ && woken_.empty() && clock_.Steady() < listeners_.next()) {
        if (listeners_.next() == base::SteadyTime::max()) {
          changed_.Wait(mutex_);
        } else {
          changed_.WaitUntil(mutex_, listeners_.next());
        }
      }
      if (stopping_) return;
      due.swap(woken_);
      for (const ListenerPtr& listener : due) listener->Disarm();
      listeners_.Due(clock_.Steady(), due);
    }
    for (const ListenerPtr& listener : due) listener->Call();
  }
}

}  // namespace portcullis::store
