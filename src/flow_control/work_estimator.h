// SPDX-License-Identifier: Apache-2.0

// WorkEstimator tells how many seats a request takes before it runs: lists and watches by the
// memory that their objects need, writes by the watches that they go to
// (k8s.io/apiserver/pkg/util/flowcontrol/request, NewWorkEstimator). Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"
#include "flow_control/classifier.h"
#include "flow_control/watch_tracker.h"
#include "flow_control/work.h"
#include "store/store.h"

namespace portcullis::flow_control {

// What a list or watch asks for, from its query.
struct ListFacts {
  bool malformed = false;  // will be refused
  std::int64_t limit = 0;
  std::string_view resource_version;
  std::string_view resource_version_match;
  std::string_view continue_token;
  std::string_view field_selector;
  std::string_view label_selector;
  bool send_initial_events = false;
};

class WorkEstimator {
 public:
  // All outlive it.
  WorkEstimator(const store::Reader& store, const base::Clock& clock)
      : store_(store), clock_(clock) {}

  // `max_seats` is what the priority level allows for one request, 0 if it says nothing.
  WorkEstimate ForList(const RequestFacts& facts, const ListFacts& list,
                       std::uint64_t max_seats) const;
  static WorkEstimate ForWrite(int watches, std::uint64_t max_seats);

 private:
  std::int64_t AverageSize(const store::Collection& collection, std::int64_t count) const;

  struct Sample {
    std::int64_t size = 0;
    base::SteadyTime taken;
  };
  const store::Reader& store_;
  const base::Clock& clock_;
  mutable base::Mutex mutex_;
  mutable std::map<std::string, Sample> samples_ PC_GUARDED_BY(mutex_);  // by "resource.group"
};

}  // namespace portcullis::flow_control
