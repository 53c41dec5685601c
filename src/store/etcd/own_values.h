// SPDX-License-Identifier: Apache-2.0

// Knows the values that this server has written lately, so that they need not be read with care when
// the watch brings them back. Thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <unordered_map>

#include "base/mutex.h"

namespace portcullis::store {

class OwnValues {
 public:
  void Add(std::string_view key, std::string_view value) PC_EXCLUDES(mutex_) {
    const base::MutexLock lock(mutex_);
    // Values of transactions that failed stay in it. To forget one costs its reader some time.
    if (values_.size() >= kMost) values_.clear();
    values_[Sum(key)] = Sum(value);
  }
  // Whether this value was the last that was added with the key; it is forgotten. A key that is not
  // there costs little: most of the values that other servers write have one.
  bool Take(std::string_view key, std::string_view value) PC_EXCLUDES(mutex_) {
    const base::MutexLock lock(mutex_);
    const auto found = values_.find(Sum(key));
    if (found == values_.end() || found->second != Sum(value)) return false;
    values_.erase(found);
    return true;
  }

 private:
  static constexpr std::size_t kMost = 4096;
  static std::size_t Sum(std::string_view text) { return std::hash<std::string_view>()(text); }

  base::Mutex mutex_;
  std::unordered_map<std::size_t, std::size_t> values_ PC_GUARDED_BY(mutex_);  // by key
};

}  // namespace portcullis::store
