// SPDX-License-Identifier: Apache-2.0

// Published<T> holds the current immutable snapshot of something that changes at run time
// (webhook configurations, RBAC rules, schemas). Readers take it at the start of a request and see
// one consistent world; a writer builds a new one and publishes it whole. Thread-safe.
#pragma once

#include <memory>
#include <utility>

#include "base/mutex.h"

namespace portcullis::base {

template <typename T>
class Published {
 public:
  Published() = default;
  explicit Published(std::shared_ptr<const T> first) : current_(std::move(first)) {}

  std::shared_ptr<const T> Get() const {
    ReaderLock lock(mutex_);
    return current_;
  }
  void Set(std::shared_ptr<const T> next) {
    {
      WriterLock lock(mutex_);
      current_.swap(next);
    }
    // The old snapshot dies here, outside the lock.
  }

 private:
  mutable SharedMutex mutex_;
  std::shared_ptr<const T> current_ PC_GUARDED_BY(mutex_);
};

}  // namespace portcullis::base
