// SPDX-License-Identifier: Apache-2.0

// FlowCounts: what the metrics tell of the requests of one FlowSchema in one priority level. The
// numbers are plain and guarded by the level's lock; they reach the metrics registry when somebody
// looks (Publish), so that a request costs a few additions. Histograms are fed directly.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "flow_control/instruments.h"
#include "flow_control/ticket.h"

namespace portcullis::flow_control {

enum class RejectReason : std::uint8_t { kConcurrencyLimit, kQueueFull, kTimeOut };

class FlowCounts {
 public:
  // `level` and `instruments` outlive it.
  FlowCounts(const std::string& level, std::string schema, Instruments& instruments)
      : level_(level), schema_(std::move(schema)), instruments_(instruments) {}

  const std::string& schema() const { return schema_; }

  // The flow of that distinguisher, dealt its queues when first met. Some thousands are remembered.
  std::shared_ptr<const Flow> FlowOf(std::string_view distinguisher, int queues, int hand_size);
  // The level's queues are others: hands are dealt anew.
  void ForgetFlows() { flows_.clear(); }

  void AddWaiting(int requests, int seats) {
    queued_.used = true;
    queued_.requests += requests;
    queued_.seats += seats;
  }
  void AddExecuting(int requests, int seats) {
    executing_.used = true;
    executing_.requests += requests;
    executing_.seats += seats;
  }
  void AddDispatched() { ++dispatched_; }
  void AddRejected(RejectReason reason) { ++rejected_[static_cast<std::size_t>(reason)]; }
  void AddNoAccommodation() { ++no_accommodation_; }

  // `watches` is below zero for requests that no watch concerns.
  void ObserveArrival(const WorkEstimate& work, int watches);
  void ObserveQueueLength(int length);
  // `execute` as kube-apiserver has it: false only for what was refused on arrival.
  void ObserveWait(bool execute, base::Duration wait);
  void ObserveRun(bool is_watch, base::Duration run);

  void Publish();

 private:
  struct Load {
    bool used = false;
    int requests = 0;
    int seats = 0;
  };
  // A count, and how much of it the registry has been told.
  struct Told {
    std::uint64_t rejected[3] = {};
    std::uint64_t dispatched = 0;
    std::uint64_t no_accommodation = 0;
  };

  const std::string& level_;
  const std::string schema_;
  Instruments& instruments_;
  std::unordered_map<std::string, std::shared_ptr<const Flow>> flows_;
  Load queued_;
  Load executing_;
  std::array<std::uint64_t, 3> rejected_{};
  std::uint64_t dispatched_ = 0;
  std::uint64_t no_accommodation_ = 0;
  Told told_;
  // Looked up when first needed: a series that nothing was observed in is not there.
  metrics::Histogram* estimated_seats_ = nullptr;
  metrics::Histogram* watch_count_ = nullptr;
  metrics::Histogram* queue_length_ = nullptr;
  metrics::Histogram* wait_[2] = {};
  metrics::Histogram* run_[2] = {};
};

}  // namespace portcullis::flow_control
