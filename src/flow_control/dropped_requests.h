// SPDX-License-Identifier: Apache-2.0

// DroppedRequests suggests how many seconds a rejected client should wait: twice as long while many
// are rejected, a second less when few are (k8s.io/apiserver/pkg/util/flowcontrol,
// dropped_requests_tracker.go). One per priority level. Thread-safe.
#pragma once

#include <cstdint>
#include <deque>

#include "base/mutex.h"

namespace portcullis::flow_control {

class DroppedRequests {
 public:
  // A request was rejected in this second of Unix time.
  void Record(std::int64_t second);
  // What the header Retry-After says, from 1 to 32.
  std::int64_t retry_after() const;

 private:
  struct Count {
    std::int64_t second = 0;
    std::int64_t requests = 0;
  };
  void Adjust(std::int64_t second) PC_REQUIRES(mutex_);

  mutable base::Mutex mutex_;
  std::deque<Count> history_ PC_GUARDED_BY(mutex_);
  Count current_ PC_GUARDED_BY(mutex_);
  std::int64_t retry_after_ PC_GUARDED_BY(mutex_) = 1;
  std::int64_t raised_ PC_GUARDED_BY(mutex_) = 0;  // when it was doubled last
};

}  // namespace portcullis::flow_control
