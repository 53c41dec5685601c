// SPDX-License-Identifier: Apache-2.0

// QueueSet: the seats and queues of one priority level. It decides which request runs, which waits
// and which is refused, by fair queuing for server requests
// (k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset; its doc.go derives the method).
//
// Each queue has a virtual time at which its next request would begin if the queues were served one
// seat-nanosecond each in turn. A free seat goes to the queue whose oldest request would end first
// by that reckoning. A queue that has got more than its share therefore waits for the others, and
// one with little to do is served at once.
//
// Thread-safe: one short lock per level. A request that waits holds no thread; see Ticket::Resume.
// Where an allocation fails, nothing has changed: only Start() and what is configured allocates.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "flow_control/flow_counts.h"
#include "flow_control/in_flight.h"
#include "flow_control/instruments.h"
#include "flow_control/integrator.h"
#include "flow_control/ticket.h"
#include "flow_control/timed_ratio.h"
#include "flow_control/work.h"

namespace portcullis::flow_control {

struct QueuingConfig {
  // Without queues a request that finds no seat is refused. Below zero nothing is limited (exempt).
  int queues = 0;
  int length_limit = 0;  // requests that may wait in one queue
  int hand_size = 0;
};

struct DispatchingConfig {
  int seats = 0;
  int denominator = 1;  // what occupancy is told relative to: seats, or something positive
};

enum class Verdict : std::uint8_t {
  kExecute,  // now; call Finish() in the end
  kQueued,   // Ticket::Resume() will be called
  kRejected,
  kRetired,  // the level is gone: classify anew
};

// Requests of one FlowSchema and distinguisher are a flow; "" where they are not told apart.
struct Arrival {
  FlowCounts* counts = nullptr;    // of the FlowSchema in this level
  std::string_view distinguisher;  // read only if the level has more than one queue
  WorkEstimate work;
  int watches = -1;  // that a write is sent to; below zero: it is none
};

struct RequestDump {
  std::string schema;
  std::string distinguisher;
  base::SteadyTime arrived;
  std::optional<base::SteadyTime> started;  // none: it waits
  WorkEstimate work;
  std::optional<RequestDetails> details;
};

struct QueueDump {
  std::vector<RequestDump> waiting;
  std::vector<RequestDump> executing;
  int seats_in_use = 0;
  SeatSeconds next_dispatch_r = 0;
  std::uint64_t initial_seats = 0;  // sums over those that wait
  std::uint64_t max_seats = 0;
  SeatSeconds total_work = 0;
};

struct QueueSetDump {
  std::vector<QueueDump> queues;
  std::vector<RequestDump> queueless;  // execute without having been in a queue
  int waiting = 0;
  int executing = 0;
  int seats_in_use = 0;
  int seats_waiting = 0;
  std::uint64_t dispatched = 0;
  std::uint64_t rejected = 0;
  std::uint64_t cancelled = 0;
};

struct Queue;

class QueueSet {
 public:
  struct Tools {
    const base::Clock& clock;
    Instruments& instruments;
    InFlight& in_flight;
    std::function<void()> wake;  // called when NextEvent() has become earlier; may be empty
  };

  // What `tools` refers to outlives it.
  QueueSet(std::string name, const Tools& tools);
  ~QueueSet();
  QueueSet(const QueueSet&) = delete;
  QueueSet& operator=(const QueueSet&) = delete;

  // In force for requests that wait too. Queues beyond a smaller number are emptied first.
  void Configure(const QueuingConfig& queuing, const DispatchingConfig& dispatching);
  // The counts of a FlowSchema in this level; live as long as the set.
  FlowCounts* CountsOf(std::string_view schema);

  // What becomes of a request that has arrived. `ticket` lives until Finish() has returned, or the
  // request was refused; ticket.wait_until_ is when it has waited long enough.
  Verdict Start(Ticket& ticket, const Arrival& arrival);
  // The request has been answered.
  void Finish(Ticket& ticket);
  // The client has gone: a request that still waits is resumed as one whose time is up.
  void Cancel(Ticket& ticket);
  // Ends every wait as Cancel() does; from now on nothing waits.
  void Close();

  // Between these the request waits for somebody else, e.g. a webhook, and its seats are free for
  // others. Return() takes them back at once, if need be beyond the limit.
  void Leave(Ticket& ticket);
  void Return(Ticket& ticket);

  // When Advance() has something to do: a request has waited long enough, or seats that were held
  // beyond the answer become free.
  std::optional<base::SteadyTime> NextEvent() const;
  void Advance();

  bool idle() const;
  // If nothing waits and nothing executes, every later Start() is told that the level is gone.
  bool RetireIfIdle();
  // The seats asked for since the last call.
  IntegratorResults TakeDemand();
  QueueSetDump Dump(bool with_details) const;
  // Brings the metrics of this level up to now.
  void Publish();

 private:
  // Requests to be resumed once the lock is released, chained so that nothing is allocated.
  struct ResumedList {
    Ticket* first = nullptr;
    Ticket* last = nullptr;
    void Append(Ticket& ticket);
    void Resume(bool execute) const;
  };
  struct Resumed {
    ResumedList execute;
    Ticket* own = nullptr;  // dispatched for the caller of Start(), who sees to it itself
    bool own_dispatched = false;
    bool wake = false;
  };
  void Run(const Resumed& resumed);
  // Entries for what waits, made before anything else changes.
  struct Waits {
    std::map<int, Queue*> queue;
    std::set<std::pair<base::SteadyTime, Ticket*>> limit;
  };

  base::SteadyTime SyncTime() PC_REQUIRES(mutex_);
  void AdvanceEpoch() PC_REQUIRES(mutex_);
  void NoteLoad(base::SteadyTime now) PC_REQUIRES(mutex_);

  bool CanAccommodate(int seats) const PC_REQUIRES(mutex_);
  void Complete(Ticket& ticket, const Arrival& arrival, base::SteadyTime now) PC_REQUIRES(mutex_);
  Verdict StartWithoutQueue(Ticket& ticket, base::SteadyTime now) PC_REQUIRES(mutex_);
  Verdict StartInQueue(Ticket& ticket, std::string_view distinguisher, base::SteadyTime now,
                       Resumed& resumed) PC_REQUIRES(mutex_);
  void Reject(Ticket& ticket, RejectReason reason, base::SteadyTime now) PC_REQUIRES(mutex_);
  Queue& ChooseQueue(const Hand& hand) PC_REQUIRES(mutex_);
  Queue& QueueAt(int index) PC_REQUIRES(mutex_);
  void Enqueue(Ticket& ticket, Waits waits, base::SteadyTime now, Resumed& resumed)
      PC_REQUIRES(mutex_);
  void Dequeue(Ticket& ticket, base::SteadyTime now) PC_REQUIRES(mutex_);
  void BoundNextDispatch(Queue& queue) PC_REQUIRES(mutex_);
  void DispatchAll(base::SteadyTime now, Resumed& resumed) PC_REQUIRES(mutex_);
  Ticket* TakeNext(base::SteadyTime now) PC_REQUIRES(mutex_);
  void Execute(Ticket& ticket, base::SteadyTime now) PC_REQUIRES(mutex_);
  void Narrow(Ticket& ticket) PC_REQUIRES(mutex_);
  void Occupy(Ticket& ticket) PC_REQUIRES(mutex_);
  void Vacate(const Release& release) PC_REQUIRES(mutex_);
  void NoteActivity(Queue& queue) PC_REQUIRES(mutex_);
  void DropSurplusQueues() PC_REQUIRES(mutex_);
  void EndWait(Ticket& ticket, base::SteadyTime now) PC_REQUIRES(mutex_);

  static RequestDump DumpOf(const Ticket& ticket, bool with_details);

  const std::string name_;
  const base::Clock& clock_;
  Instruments& instruments_;
  InFlight& in_flight_;
  const std::function<void()> wake_;

  mutable base::Mutex mutex_;
  QueuingConfig queuing_ PC_GUARDED_BY(mutex_);
  DispatchingConfig dispatching_ PC_GUARDED_BY(mutex_);
  bool retired_ PC_GUARDED_BY(mutex_) = false;
  bool closed_ PC_GUARDED_BY(mutex_) = false;

  // A queue is made when it is first used. There may be more than wanted while those are emptied.
  std::vector<std::unique_ptr<Queue>> queues_ PC_GUARDED_BY(mutex_);
  std::map<int, Queue*> waiting_queues_ PC_GUARDED_BY(mutex_);  // somebody waits there; by index
  TicketList queueless_ PC_GUARDED_BY(mutex_);
  std::set<std::pair<base::SteadyTime, Ticket*>> time_limits_ PC_GUARDED_BY(mutex_);
  Releases releases_ PC_GUARDED_BY(mutex_);

  // The progress meter R: seat-seconds given to each active queue so far.
  SeatSeconds current_r_ PC_GUARDED_BY(mutex_) = 0;
  base::SteadyTime synced_ PC_GUARDED_BY(mutex_);
  int robin_ PC_GUARDED_BY(mutex_) = 0;  // the queue dispatched from last
  std::size_t dealt_ PC_GUARDED_BY(mutex_) = 0;

  int waiting_ PC_GUARDED_BY(mutex_) = 0;
  int executing_ PC_GUARDED_BY(mutex_) = 0;
  int seats_in_use_ PC_GUARDED_BY(mutex_) = 0;
  int seats_waiting_ PC_GUARDED_BY(mutex_) = 0;
  int queue_seats_ PC_GUARDED_BY(mutex_) = 0;    // of seats_in_use_, those taken through a queue
  int active_queues_ PC_GUARDED_BY(mutex_) = 0;  // somebody waits there or executes from there
  std::uint64_t dispatched_ PC_GUARDED_BY(mutex_) = 0;
  std::uint64_t rejected_ PC_GUARDED_BY(mutex_) = 0;
  std::uint64_t cancelled_ PC_GUARDED_BY(mutex_) = 0;

  std::map<std::string, std::unique_ptr<FlowCounts>, std::less<>> counts_ PC_GUARDED_BY(mutex_);
  TimedRatio waiting_use_ PC_GUARDED_BY(mutex_);
  TimedRatio executing_use_ PC_GUARDED_BY(mutex_);
  TimedRatio seat_use_ PC_GUARDED_BY(mutex_);
  TimedRatio demand_use_ PC_GUARDED_BY(mutex_);
  Integrator demand_ PC_GUARDED_BY(mutex_);
  // What the gauges of the virtual world show; only dispatches from queues change it.
  struct {
    bool known = false;
    SeatSeconds r = 0, s = 0, s_min = 0, s_max = 0, discounted_min = 0, discounted_max = 0;
  } last_dispatch_ PC_GUARDED_BY(mutex_);
};

}  // namespace portcullis::flow_control
