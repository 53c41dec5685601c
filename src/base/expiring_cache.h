// SPDX-License-Identifier: Apache-2.0

// ExpiringCache remembers values by a text until a time of their own. When it is full, what has not
// been used for longest goes first. Thread-safe.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"

namespace portcullis::base {

template <typename T>
class ExpiringCache {
 public:
  explicit ExpiringCache(std::size_t most) : most_(most) {}

  std::optional<T> Find(std::string_view key, SteadyTime now) {
    MutexLock lock(mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return std::nullopt;
    const auto entry = found->second;
    if (entry->expires <= now) {
      by_key_.erase(found);
      by_use_.erase(entry);
      return std::nullopt;
    }
    by_use_.splice(by_use_.begin(), by_use_, entry);
    return entry->value;
  }

  void Put(std::string key, T value, SteadyTime expires) {
    MutexLock lock(mutex_);
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      const auto entry = found->second;
      by_key_.erase(found);
      by_use_.erase(entry);
    }
    if (by_use_.size() >= most_) {
      by_key_.erase(by_use_.back().key);
      by_use_.pop_back();
    }
    by_use_.push_front({std::move(key), std::move(value), expires});
    by_key_.emplace(by_use_.front().key, by_use_.begin());
  }

 private:
  struct Entry {
    std::string key;
    T value;
    SteadyTime expires;
  };
  const std::size_t most_;
  Mutex mutex_;
  std::list<Entry> by_use_ PC_GUARDED_BY(mutex_);
  std::map<std::string_view, typename std::list<Entry>::iterator> by_key_ PC_GUARDED_BY(mutex_);
};

}  // namespace portcullis::base
