// SPDX-License-Identifier: Apache-2.0

// FanOut wakes watches when something they watch has changed, from a thread of its own, so that
// neither writers nor readers pay for the number of watches. The thread starts with the first
// watch. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace portcullis::store {

class CollectionState;

class FanOut {
 public:
  FanOut() = default;
  ~FanOut();
  FanOut(const FanOut&) = delete;
  FanOut& operator=(const FanOut&) = delete;

  // One watch as the fan-out sees it.
  class Listener {
   public:
    explicit Listener(std::function<void()> ready) : ready_(std::move(ready)) {}
    // Asks to be woken by the next change. Call before looking for changes a last time.
    void Arm() { armed_.store(true, std::memory_order_seq_cst); }

   private:
    friend class FanOut;
    bool Disarm() { return armed_.exchange(false, std::memory_order_seq_cst); }
    void Call();
    void Close();

    std::atomic<bool> armed_{false};
    std::size_t index_ = 0;  // in its bucket; guarded by FanOut::mutex_
    base::Mutex call_mutex_;
    bool closed_ PC_GUARDED_BY(call_mutex_) = false;
    const std::function<void()> ready_;
  };

  void Add(const CollectionState* collection, std::string_view ns,
           const std::shared_ptr<Listener>& listener) PC_EXCLUDES(mutex_);
  // After this the listener is not called any more.
  void Remove(const CollectionState* collection, std::string_view ns, Listener& listener)
      PC_EXCLUDES(mutex_);

  // There are no listeners: changes need not be announced.
  bool idle() const { return listeners_.load(std::memory_order_seq_cst) == 0; }
  using Change = std::pair<const CollectionState*, std::string>;  // collection, namespace
  // Wakes those who listen to one of the changes, soon.
  void Announce(std::vector<Change> changes) PC_EXCLUDES(mutex_);
  // Wakes all, soon.
  void AnnounceAll() PC_EXCLUDES(mutex_);
  // Wakes this one, soon.
  void Wake(std::shared_ptr<Listener> listener) PC_EXCLUDES(mutex_);

 private:
  using Bucket = std::vector<std::shared_ptr<Listener>>;
  void Run();
  // Those of the pending changes' listeners that are armed, disarmed.
  Bucket Due() PC_REQUIRES(mutex_);
  static void TakeArmed(const Bucket& bucket, Bucket& due);

  std::atomic<std::size_t> listeners_{0};
  base::Mutex mutex_;
  base::CondVar changed_;
  bool stopping_ PC_GUARDED_BY(mutex_) = false;
  bool all_ PC_GUARDED_BY(mutex_) = false;
  std::vector<Change> pending_ PC_GUARDED_BY(mutex_);
  Bucket woken_ PC_GUARDED_BY(mutex_);
  // By collection and namespace; namespace "" listens to all.
  std::map<Change, Bucket> buckets_ PC_GUARDED_BY(mutex_);
  std::thread thread_ PC_GUARDED_BY(mutex_);
};

}  // namespace portcullis::store
