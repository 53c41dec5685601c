// SPDX-License-Identifier: Apache-2.0

#include "flow_control/flow_counts.h"

#include "base/allocation_failure.h"
#include "base/clock.h"

namespace portcullis::flow_control {
namespace {

constexpr std::size_t kMaxFlows = 4096;
constexpr std::size_t kMaxKeptName = 256;  // namespaces are what clients write into a path
constexpr std::string_view kReasons[] = {"concurrency-limit", "queue-full", "time-out"};

double Seconds(base::Duration duration) { return std::chrono::duration<double>(duration).count(); }

// Tells the counter what it does not know yet.
void Tell(metrics::Family<metrics::Counter>& family, std::initializer_list<std::string_view> labels,
          std::uint64_t count, std::uint64_t& told) {
  if (count == told) return;
  family.With(labels).Increment(count - told);
  told = count;
}

// Into a histogram that is found at its first use. This is called where nothing may fail: without
// memory for the histogram the value is not counted.
template <typename Find>
void ObserveIn(metrics::Histogram*& histogram, double value, Find find) {
  if (histogram == nullptr) base::UnlessMemoryRunsOut([&] { histogram = &find(); });
  if (histogram != nullptr) histogram->Observe(value);
}

}  // namespace

std::shared_ptr<const Flow> FlowCounts::FlowOf(std::string_view distinguisher, int queues,
                                               int hand_size) {
  std::string key(distinguisher);
  if (const auto found = flows_.find(key); found != flows_.end()) return found->second;
  auto flow = std::make_shared<Flow>();
  flow->distinguisher = key;
  flow->hand = Deal(queues, hand_size, queues > 1 ? HashFlow(schema_, distinguisher) : 0);
  if (key.size() > kMaxKeptName) return flow;
  if (flows_.size() >= kMaxFlows) flows_.clear();
  return flows_.emplace(std::move(key), std::move(flow)).first->second;
}

void FlowCounts::ObserveArrival(const WorkEstimate& work, int watches) {
  ObserveIn(estimated_seats_, work.max_seats(), [this]() -> metrics::Histogram& {
    return instruments_.estimated_seats.With({level_, schema_});
  });
  if (watches < 0) return;
  ObserveIn(watch_count_, watches, [this]() -> metrics::Histogram& {
    return instruments_.watch_count.With({level_, schema_});
  });
}

void FlowCounts::ObserveQueueLength(int length) {
  ObserveIn(queue_length_, length, [this]() -> metrics::Histogram& {
    return instruments_.queue_length.With({level_, schema_});
  });
}

void FlowCounts::ObserveWait(bool execute, base::Duration wait) {
  ObserveIn(wait_[execute ? 1 : 0], Seconds(wait), [&]() -> metrics::Histogram& {
    return instruments_.wait_seconds.With({level_, schema_, execute ? "true" : "false"});
  });
}

void FlowCounts::ObserveRun(bool is_watch, base::Duration run) {
  ObserveIn(run_[is_watch ? 1 : 0], Seconds(run), [&]() -> metrics::Histogram& {
    return instruments_.run_seconds.With({level_, schema_, is_watch ? "watch" : "regular"});
  });
}

void FlowCounts::Publish() {
  for (std::size_t reason = 0; reason < rejected_.size(); ++reason) {
    Tell(instruments_.rejected, {level_, schema_, kReasons[reason]}, rejected_[reason],
         told_.rejected[reason]);
  }
  Tell(instruments_.dispatched, {level_, schema_}, dispatched_, told_.dispatched);
  Tell(instruments_.no_accommodation, {level_, schema_}, no_accommodation_, told_.no_accommodation);
  if (queued_.used) {
    instruments_.queued_requests.With({level_, schema_}).Set(queued_.requests);
    instruments_.queued_seats.With({level_, schema_}).Set(queued_.seats);
  }
  if (executing_.used) {
    instruments_.executing_requests.With({level_, schema_}).Set(executing_.requests);
    instruments_.executing_seats.With({level_, schema_}).Set(executing_.seats);
  }
}

}  // namespace portcullis::flow_control
