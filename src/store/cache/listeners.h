// SPDX-License-Identifier: Apache-2.0

// Listeners are the watches that wait for changes, by collection and namespace. It says whom a
// change wakes, and when.
//
// Watches of which many are woken at once rest afterwards: what changes meanwhile reaches them
// together, in one write to each socket, and a change after the rest wakes them at once. With a
// thousand watches of one collection a burst of writes costs so a fraction of what it would event by
// event; few watches never rest.
//
// Not synchronized, but for Listener's atomic flag: FanOut guards it with its mutex.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace portcullis::store {

class CollectionState;

// One watch. Thread-safe.
class Listener {
 public:
  explicit Listener(std::function<void()> ready) : ready_(std::move(ready)) {}
  // Asks to be woken by the next change. Call before looking for changes a last time.
  void Arm() { armed_.store(true, std::memory_order_seq_cst); }
  bool Disarm() { return armed_.exchange(false, std::memory_order_seq_cst); }

  void Call();
  void Close();  // after this Call() does nothing

 private:
  friend class Listeners;
  std::atomic<bool> armed_{false};
  std::size_t index_ = 0;  // in its bucket
  base::Mutex call_mutex_;
  bool closed_ PC_GUARDED_BY(call_mutex_) = false;
  const std::function<void()> ready_;
};
using ListenerPtr = std::shared_ptr<Listener>;

class Listeners {
 public:
  using Change = std::pair<const CollectionState*, std::string>;  // collection, namespace

  // A rest is so long for each watch that was woken, which is about twice the CPU that its event
  // takes on the way to the socket, and none if it would be shorter than kShortestRest.
  static constexpr std::chrono::microseconds kRestPerListener{20};
  static constexpr std::chrono::milliseconds kShortestRest{1};
  static constexpr std::chrono::milliseconds kLongestRest{100};

  // Namespace "": of all.
  void Add(const CollectionState* collection, std::string_view ns, const ListenerPtr& listener);
  void Remove(const CollectionState* collection, std::string_view ns, const Listener& listener);

  // The next call of Due() looks at those who listen to this change, or at all. False: it would do
  // so anyway, or there are none.
  bool Mark(const Change& change);
  bool MarkAll();

  // Moves those to `due` whom the marked changes wake now, and disarms them.
  void Due(base::SteadyTime now, std::vector<ListenerPtr>& due);
  // The earliest time at which a call of Due() may find more; max() if that needs another change.
  base::SteadyTime next() const { return next_; }

 private:
  struct Bucket {
    std::vector<ListenerPtr> listeners;
    base::SteadyTime rests_until = base::SteadyTime::min();
    bool is_marked = false;
  };
  bool Mark(Bucket& bucket);
  static std::size_t TakeArmed(const Bucket& bucket, std::vector<ListenerPtr>& due);

  std::map<Change, Bucket> buckets_;
  std::vector<Bucket*> marked_;
  base::SteadyTime next_ = base::SteadyTime::max();
};

}  // namespace portcullis::store
