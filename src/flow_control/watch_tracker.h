// SPDX-License-Identifier: Apache-2.0

// WatchTracker counts the watches that a write may have to be sent to, for the estimate of what the
// write costs (k8s.io/apiserver/pkg/util/flowcontrol, watch_tracker.go). Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/mutex.h"
#include "flow_control/classifier.h"

namespace portcullis::flow_control {

class WatchTracker {
 public:
  // A watch has begun; the result is called when it has ended, and must not outlive the tracker.
  // A watch of the pods of one node is not counted: few writes concern it.
  std::function<void()> Register(const RequestFacts& facts, std::string_view field_selector);
  // The watches of the resource, of its namespace and of the object that the request writes.
  int InterestedIn(const RequestFacts& facts) const;

 private:
  static void MakeKey(std::string& key, const RequestFacts& facts, std::string_view ns,
                      std::string_view name);
  int CountOf(const std::string& key) const PC_REQUIRES(mutex_);
  void Forget(const std::string& key);

  std::atomic<std::size_t> watches_{0};
  mutable base::Mutex mutex_;
  std::unordered_map<std::string, int> counts_ PC_GUARDED_BY(mutex_);
};

}  // namespace portcullis::flow_control
