// SPDX-License-Identifier: Apache-2.0

// FlowControl: API Priority and Fairness. It classifies each request by the FlowSchemas, and lets
// the QueueSet of the priority level decide whether the request runs, waits or is refused
// (k8s.io/apiserver/pkg/util/flowcontrol; Kubernetes documentation, "API Priority and Fairness").
//
//   FlowControl flow_control(600, store, clock, registry, [] { … });
//   switch (flow_control.Begin(ticket, facts, list, wait_until)) {
//     case Verdict::kExecute: …; flow_control.Finish(ticket); break;
//     case Verdict::kQueued: break;  // ticket.Resume() goes on
//     default: …                     // 429, Retry-After: flow_control.NoteRejected(ticket)
//   }
//
// A write to a FlowSchema or PriorityLevelConfiguration is in force for the requests that come
// after it has returned. Thread-safe; without threads of its own: somebody calls Advance() when
// NextEvent() comes.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/published.h"
#include "flow_control/classifier.h"
#include "flow_control/configuration.h"
#include "flow_control/dropped_requests.h"
#include "flow_control/dumps.h"
#include "flow_control/in_flight.h"
#include "flow_control/instruments.h"
#include "flow_control/limits.h"
#include "flow_control/queue_set.h"
#include "flow_control/ticket.h"
#include "flow_control/watch_tracker.h"
#include "flow_control/work_estimator.h"
#include "store/store.h"

namespace portcullis::flow_control {

// A priority level at work. What is not thread-safe by itself is guarded by FlowControl's lock.
struct Level {
  Level(const std::string& name, const QueueSet::Tools& tools) : queues(name, tools) {}

  QueueSet queues;
  DroppedRequests dropped;
  LevelSpec spec;
  LevelLimits limits;
  bool quiescing = false;  // its object is gone: it ends when nothing of it waits or executes
};

// A FlowSchema with what a request needs to know of its level. Immutable.
struct FlowSchema {
  std::string name;
  std::string uid;
  std::string level_name;
  std::string level_uid;
  Distinguisher distinguisher = Distinguisher::kNone;
  std::uint64_t max_seats = 0;
  std::shared_ptr<Level> level;
  FlowCounts* counts = nullptr;
};

// The configuration in force. Immutable.
struct Snapshot {
  std::uint64_t generation = 0;
  std::vector<SchemaSpec> specs;  // in the order of precedence
  std::vector<FlowSchema> schemas;
  std::optional<Classifier> classifier;
  std::size_t fallback = 0;  // where nothing matches: catch-all
};

class FlowControl final : private store::Observer {
 public:
  // `seats` is the server's concurrency. All references outlive it; `wake` (may be empty) is called
  // on any thread when NextEvent() has become earlier.
  FlowControl(int seats, store::Store& store, const base::Clock& clock, metrics::Registry& registry,
              std::function<void()> wake);
  ~FlowControl() override;

  // Classifies the request and asks its level. `list` is set for lists and watches. Never
  // kRetired. After kExecute, and after Resume(true), Finish() must be called once.
  Verdict Begin(Ticket& ticket, const RequestFacts& facts, const ListFacts* list,
                base::SteadyTime wait_until);
  void Finish(Ticket& ticket);
  // See QueueSet.
  void Cancel(Ticket& ticket) { ticket.schema()->level->queues.Cancel(ticket); }
  void Leave(Ticket& ticket) { ticket.schema()->level->queues.Leave(ticket); }
  void Return(Ticket& ticket) { ticket.schema()->level->queues.Return(ticket); }
  // The server stops: ends every wait as Cancel() does; from now on nothing waits.
  void Close();
  // The request is answered with 429; returns what Retry-After says.
  std::int64_t NoteRejected(const Ticket& ticket);

  WatchTracker& watches() { return watches_; }

  std::optional<base::SteadyTime> NextEvent();
  void Advance();
  // Brings all metrics up to now.
  void Publish();

  // The pages of /debug/api_priority_and_fairness.
  std::string DumpPriorityLevels();
  std::string DumpQueues();
  std::string DumpRequests(bool with_details);

 private:
  using Levels = std::map<std::string, std::shared_ptr<Level>, std::less<>>;

  void OnCommit(std::span<const store::EventPtr> events) override;

  std::shared_ptr<const Snapshot> Current();
  void Refresh() PC_EXCLUDES(mutex_);
  void Digest(std::uint64_t generation) PC_REQUIRES(mutex_);
  void TakeLevel(json::Value object, Levels& levels) PC_REQUIRES(mutex_);
  void KeepOldLevels(Levels& levels) PC_REQUIRES(mutex_);
  void SetLimits() PC_REQUIRES(mutex_);
  void AdjustSeats() PC_REQUIRES(mutex_);
  void TellLimits(const std::string& name, const Level& level) PC_REQUIRES(mutex_);
  std::vector<SchemaSpec> ReadSchemas(const Levels& levels) const PC_REQUIRES(mutex_);
  std::shared_ptr<const Snapshot> MakeSnapshot(std::vector<SchemaSpec> specs,
                                               std::uint64_t generation) const PC_REQUIRES(mutex_);
  std::vector<std::pair<std::string, std::shared_ptr<Level>>> AllLevels();
  std::vector<LevelDump> DumpLevels(bool with_details);
  void Estimate(const FlowSchema& schema, const RequestFacts& facts, const ListFacts* list,
                Arrival& arrival) const;

  const int seats_;
  store::Store& store_;
  const base::Clock& clock_;
  Instruments instruments_;
  InFlight in_flight_;
  WatchTracker watches_;
  const WorkEstimator estimator_;
  const std::function<void()> wake_;

  std::atomic<std::uint64_t> generation_{1};
  base::Published<Snapshot> snapshot_;
  base::Mutex mutex_;
  Levels levels_ PC_GUARDED_BY(mutex_);
  bool closed_ PC_GUARDED_BY(mutex_) = false;
  base::SteadyTime next_adjustment_ PC_GUARDED_BY(mutex_);
  std::unique_ptr<store::Subscription> subscription_;
};

}  // namespace portcullis::flow_control
