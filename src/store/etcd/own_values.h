// SPDX-License-Identifier: Apache-2.0

// Knows the values that this server has written lately, so that they need not be read with care when
// the watch brings them back. Thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <unordered_set>

#include "base/mutex.h"

namespace portcullis::store {

class OwnValues {
 public:
  void Add(std::string_view key, std::string_view value) PC_EXCLUDES(mutex_) {
    const base::MutexLock lock(mutex_);
    // Values of transactions that failed stay in it. To forget one costs its reader some time.
    if (sums_.size() >= kMost) sums_.clear();
    sums_.insert(Sum(key, value));
  }
  // Whether the value was added; it is forgotten.
  bool Take(std::string_view key, std::string_view value) PC_EXCLUDES(mutex_) {
    const base::MutexLock lock(mutex_);
    return sums_.erase(Sum(key, value)) > 0;
  }

 private:
  static constexpr std::size_t kMost = 4096;
  static std::size_t Sum(std::string_view key, std::string_view value) {
    const std::hash<std::string_view> hash;
    return hash(key) * 31 + hash(value);
  }

  base::Mutex mutex_;
  std::unordered_set<std::size_t> sums_ PC_GUARDED_BY(mutex_);
};

}  // namespace portcullis::store
