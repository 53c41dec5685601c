// SPDX-License-Identifier: Apache-2.0

// FanOut wakes watches when something they watch has changed, from a thread of its own, so that
// neither writers nor readers pay for the number of watches. The thread starts with the first
// watch. Thread-safe.
#pragma once

#include <atomic>
#include <string_view>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "store/cache/listeners.h"

namespace portcullis::store {

class FanOut {
 public:
  // `clock` is the machine's time and outlives it.
  explicit FanOut(const base::Clock& clock) : clock_(clock) {}
  ~FanOut();
  FanOut(const FanOut&) = delete;
  FanOut& operator=(const FanOut&) = delete;

  void Add(const CollectionState* collection, std::string_view ns, const ListenerPtr& listener)
      PC_EXCLUDES(mutex_);
  // After this the listener is not called any more.
  void Remove(const CollectionState* collection, std::string_view ns, Listener& listener)
      PC_EXCLUDES(mutex_);

  // There are no listeners: changes need not be announced.
  bool idle() const { return count_.load(std::memory_order_seq_cst) == 0; }
  using Change = Listeners::Change;
  // Wakes those who listen to one of the changes, soon.
  void Announce(const std::vector<Change>& changes) PC_EXCLUDES(mutex_);
  // Wakes all, soon.
  void AnnounceAll() PC_EXCLUDES(mutex_);
  // Wakes this one, soon.
  void Wake(ListenerPtr listener) PC_EXCLUDES(mutex_);

 private:
  void Run();

  const base::Clock& clock_;
  std::atomic<std::size_t> count_{0};
  base::Mutex mutex_;
  base::CondVar changed_;
  bool stopping_ PC_GUARDED_BY(mutex_) = false;
  Listeners listeners_ PC_GUARDED_BY(mutex_);
  std::vector<ListenerPtr> woken_ PC_GUARDED_BY(mutex_);
  std::thread thread_ PC_GUARDED_BY(mutex_);
};

}  // namespace portcullis::store
