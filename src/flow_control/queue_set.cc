// SPDX-License-Identifier: Apache-2.0

#include "flow_control/queue_set.h"

#include <algorithm>
#include <utility>

#include "flow_control/queue.h"

namespace portcullis::flow_control {
namespace {

// How long a request is taken to run until it is known.
constexpr base::Duration kEstimatedService = std::chrono::milliseconds(3);
constexpr SeatSeconds kServiceWork = 300'000;  // of one seat for that long
// The progress meter is turned back by so much before it overflows.
constexpr SeatSeconds kEpoch = kMaxSeatSeconds / 2;
constexpr SeatSeconds kEpochEnds = kEpoch + kEpoch / 2;

}  // namespace

void TicketList::Append(Ticket& ticket) {
  ticket.previous_ = last;
  ticket.next_ = nullptr;
  (last != nullptr ? last->next_ : first) = &ticket;
  last = &ticket;
  ++size;
}

void TicketList::Remove(Ticket& ticket) {
  (ticket.previous_ != nullptr ? ticket.previous_->next_ : first) = ticket.next_;
  (ticket.next_ != nullptr ? ticket.next_->previous_ : last) = ticket.previous_;
  ticket.previous_ = ticket.next_ = nullptr;
  --size;
}

void QueueSet::ResumedList::Append(Ticket& ticket) {
  ticket.next_resumed_ = nullptr;
  (last != nullptr ? last->next_resumed_ : first) = &ticket;
  last = &ticket;
}

void QueueSet::ResumedList::Resume(bool execute) const {
  for (Ticket* at = first; at != nullptr;) {
    Ticket& ticket = *at;
    at = ticket.next_resumed_;  // the ticket may be gone when Resume() returns
    ticket.Resume(execute);
  }
}

QueueSet::QueueSet(std::string name, const Tools& tools)
    : name_(std::move(name)),
      clock_(tools.clock),
      instruments_(tools.instruments),
      in_flight_(tools.in_flight),
      wake_(tools.wake),
      synced_(clock_.Steady()),
      waiting_use_(instruments_.request_use.With({"waiting", name_}), synced_),
      executing_use_(instruments_.request_use.With({"executing", name_}), synced_),
      seat_use_(instruments_.seat_use.With({"executing", name_}), synced_),
      demand_use_(instruments_.demand.With({name_}), synced_),
      demand_(synced_) {}

QueueSet::~QueueSet() = default;

void QueueSet::Configure(const QueuingConfig& queuing, const DispatchingConfig& dispatching) {
  Resumed resumed;
  {
    const base::MutexLock lock(mutex_);
    const base::SteadyTime now = SyncTime();
    if (queuing.queues != queuing_.queues || queuing.hand_size != queuing_.hand_size) {
      for (const auto& [schema, counts] : counts_) counts->ForgetFlows();
    }
    const QueuingConfig before = std::exchange(queuing_, queuing);
    if (queuing.queues <= 0) {  // what waits is still judged by the old lengths
      queuing_.length_limit = before.length_limit;
      queuing_.hand_size = before.hand_size;
    }
    dispatching_ = dispatching;
    DropSurplusQueues();
    const double places =
        static_cast<double>(std::max(1, queuing_.length_limit)) * std::max(1, queuing_.queues);
    waiting_use_.SetDenominator(places, now);
    executing_use_.SetDenominator(dispatching.denominator, now);
    seat_use_.SetDenominator(dispatching.denominator, now);
    demand_use_.SetDenominator(dispatching.denominator, now);
    DispatchAll(now, resumed);
  }
  Run(resumed);
}

FlowCounts* QueueSet::CountsOf(std::string_view schema) {
  const base::MutexLock lock(mutex_);
  auto found = counts_.find(schema);
  if (found == counts_.end()) {
    auto counts = std::make_unique<FlowCounts>(name_, std::string(schema), instruments_);
    found = counts_.emplace(std::string(schema), std::move(counts)).first;
  }
  return found->second.get();
}

Verdict QueueSet::Start(Ticket& ticket, const Arrival& arrival) {
  Resumed resumed;
  Verdict verdict = Verdict::kRetired;
  {
    const base::MutexLock lock(mutex_);
    if (retired_) return verdict;
    const base::SteadyTime now = SyncTime();
    Complete(ticket, arrival, now);
    arrival.counts->ObserveArrival(arrival.work, arrival.watches);
    verdict = queuing_.queues <= 0 ? StartWithoutQueue(ticket, now)
                                   : StartInQueue(ticket, arrival.distinguisher, now, resumed);
    NoteLoad(now);
  }
  Run(resumed);
  return verdict;
}

void QueueSet::Finish(Ticket& ticket) {
  Resumed resumed;
  {
    const base::MutexLock lock(mutex_);
    const base::SteadyTime now = SyncTime();
    if (ticket.is_away_) {
      ticket.is_away_ = false;
      Occupy(ticket);
    }
    --executing_;
    in_flight_.Add(Phase::kExecuting, ticket.kind_, -1, now);
    ticket.counts_->AddExecuting(-1, 0);
    const base::Duration took = now - ticket.started_;
    ticket.counts_->ObserveRun(ticket.is_watch_, took);
    Queue* const queue = ticket.queue_;
    (queue != nullptr ? queue->executing : queueless_).Remove(ticket);
    if (queue != nullptr) {
      // The queue was charged for the estimate; now it is charged for what it was.
      queue->next_dispatch_r -= SeatsTimesDuration(static_cast<double>(ticket.work_.initial_seats),
                                                   kEstimatedService - (took - ticket.away_));
      BoundNextDispatch(*queue);
    }
    const Release release{queue, ticket.counts_, ticket.work_.max_seats()};
    if (ticket.release_) {
      ticket.release_.key() = now + ticket.work_.additional_latency;
      ticket.release_.mapped() = release;
      resumed.wake = releases_.insert(std::move(ticket.release_)) == releases_.begin();
    } else {
      Vacate(release);
    }
    if (queue != nullptr) NoteActivity(*queue);
    DispatchAll(now, resumed);
    DropSurplusQueues();
    NoteLoad(now);
  }
  Run(resumed);
}

void QueueSet::Cancel(Ticket& ticket) {
  Resumed resumed;
  {
    const base::MutexLock lock(mutex_);
    if (!ticket.waiting_) return;
    const base::SteadyTime now = SyncTime();
    EndWait(ticket, now);
    DispatchAll(now, resumed);
    NoteLoad(now);
  }
  Run(resumed);
  ticket.Resume(false);
}

void QueueSet::Close() {
  ResumedList ended;
  {
    const base::MutexLock lock(mutex_);
    closed_ = true;
    const base::SteadyTime now = SyncTime();
    while (!time_limits_.empty()) {
      Ticket& ticket = *time_limits_.begin()->second;
      ended.Append(ticket);
      EndWait(ticket, now);
    }
    NoteLoad(now);
  }
  ended.Resume(false);
}

void QueueSet::Leave(Ticket& ticket) {
  Resumed resumed;
  {
    const base::MutexLock lock(mutex_);
    const base::SteadyTime now = SyncTime();
    ticket.is_away_ = true;
    ticket.left_ = now;
    Vacate({ticket.queue_, ticket.counts_, ticket.work_.max_seats()});
    DispatchAll(now, resumed);
    NoteLoad(now);
  }
  Run(resumed);
}

void QueueSet::Return(Ticket& ticket) {
  const base::MutexLock lock(mutex_);
  const base::SteadyTime now = SyncTime();
  ticket.is_away_ = false;
  ticket.away_ += now - ticket.left_;
  Occupy(ticket);
  NoteLoad(now);
}

std::optional<base::SteadyTime> QueueSet::NextEvent() const {
  const base::MutexLock lock(mutex_);
  std::optional<base::SteadyTime> next;
  if (!time_limits_.empty()) next = time_limits_.begin()->first;
  if (!releases_.empty() && (!next || releases_.begin()->first < *next)) {
    next = releases_.begin()->first;
  }
  return next;
}

void QueueSet::Advance() {
  Resumed resumed;
  ResumedList late;
  {
    const base::MutexLock lock(mutex_);
    const base::SteadyTime now = SyncTime();
    while (!releases_.empty() && releases_.begin()->first <= now) {
      Vacate(releases_.begin()->second);
      releases_.erase(releases_.begin());
    }
    DispatchAll(now, resumed);
    while (!time_limits_.empty() && time_limits_.begin()->first <= now) {
      Ticket& ticket = *time_limits_.begin()->second;
      late.Append(ticket);
      EndWait(ticket, now);
    }
    // The next in line may need fewer seats than the one whose time is up.
    if (late.first != nullptr) DispatchAll(now, resumed);
    DropSurplusQueues();
    NoteLoad(now);
  }
  Run(resumed);
  late.Resume(false);
}

bool QueueSet::idle() const {
  const base::MutexLock lock(mutex_);
  return waiting_ == 0 && executing_ == 0;
}

bool QueueSet::RetireIfIdle() {
  const base::MutexLock lock(mutex_);
  if (waiting_ == 0 && executing_ == 0) retired_ = true;
  return retired_;
}

IntegratorResults QueueSet::TakeDemand() {
  const base::MutexLock lock(mutex_);
  return demand_.Reset(clock_.Steady());
}

void QueueSet::Run(const Resumed& resumed) {
  resumed.execute.Resume(true);
  if (resumed.wake && wake_) wake_();
}

base::SteadyTime QueueSet::SyncTime() {
  const base::SteadyTime now = clock_.Steady();
  if (active_queues_ > 0) {
    const double seats = std::min(queue_seats_ + seats_waiting_, dispatching_.seats);
    current_r_ += SeatsTimesDuration(seats / active_queues_, now - synced_);
    if (current_r_ >= kEpochEnds) AdvanceEpoch();
  }
  synced_ = now;
  return now;
}

void QueueSet::AdvanceEpoch() {
  current_r_ -= kEpoch;
  for (const auto& queue : queues_) {
    if (queue == nullptr) continue;
    // An idle queue begins at current_r_ when it is next used.
    queue->next_dispatch_r = queue->active() ? queue->next_dispatch_r - kEpoch : 0;
    for (Ticket* at = queue->waiting.first; at != nullptr; at = at->next_) at->arrival_r_ -= kEpoch;
  }
  instruments_.epoch_advances.With({name_, "true"}).Increment();
}

void QueueSet::NoteLoad(base::SteadyTime now) {
  const int demand = seats_in_use_ + seats_waiting_;
  waiting_use_.Set(waiting_, now);
  executing_use_.Set(executing_, now);
  seat_use_.Set(seats_in_use_, now);
  demand_use_.Set(demand, now);
  demand_.Set(demand, now);
}

bool QueueSet::CanAccommodate(int seats) const {
  if (queuing_.queues < 0) return true;
  // A request that is wider than the level runs alone.
  if (seats > dispatching_.seats) return executing_ == 0;
  return seats_in_use_ + seats <= dispatching_.seats;
}

void QueueSet::Complete(Ticket& ticket, const Arrival& arrival, base::SteadyTime now) {
  const WorkEstimate& work = arrival.work;
  ticket.counts_ = arrival.counts;
  ticket.work_ = work;
  ticket.final_work_ = 0;
  ticket.total_work_ = work.initial_seats * kServiceWork;
  if (work.final_seats > 0) {
    ticket.final_work_ =
        SeatsTimesDuration(static_cast<double>(work.final_seats), work.additional_latency);
    ticket.total_work_ += ticket.final_work_;
  }
  ticket.arrival_r_ = current_r_;
  ticket.arrived_ = now;
  ticket.release_ = {};
  if (work.additional_latency > base::Duration::zero()) {
    Releases one;
    one.emplace(now, Release());
    ticket.release_ = one.extract(one.begin());
  }
}

Verdict QueueSet::StartWithoutQueue(Ticket& ticket, base::SteadyTime now) {
  if (!CanAccommodate(ticket.work_.max_seats())) {
    Reject(ticket, RejectReason::kConcurrencyLimit, now);
    return Verdict::kRejected;
  }
  queueless_.Append(ticket);
  Execute(ticket, now);
  return Verdict::kExecute;
}

Verdict QueueSet::StartInQueue(Ticket& ticket, std::string_view distinguisher, base::SteadyTime now,
                               Resumed& resumed) {
  ticket.flow_ = ticket.counts_->FlowOf(queuing_.queues > 1 ? distinguisher : std::string_view(),
                                        queuing_.queues, queuing_.hand_size);
  Queue& queue = ChooseQueue(ticket.flow_->hand);
  if (seats_in_use_ >= dispatching_.seats && queue.waiting.size >= queuing_.length_limit) {
    Reject(ticket, RejectReason::kQueueFull, now);
    return Verdict::kRejected;
  }
  ticket.queue_ = &queue;
  if (!queue.active()) queue.next_dispatch_r = current_r_;
  ticket.counts_->ObserveQueueLength(queue.waiting.size + 1);
  // Without anybody waiting it would be put into the queue and taken out at once.
  if (waiting_ == 0 && seats_in_use_ < dispatching_.seats &&
      CanAccommodate(ticket.work_.max_seats())) {
    queue.next_dispatch_r = std::max(queue.next_dispatch_r, ticket.arrival_r_);
    const SeatSeconds s = queue.next_dispatch_r;
    const SeatSeconds discounted = s - SeatsTimesDuration(queue.seats_in_use, kEstimatedService);
    last_dispatch_ = {true, current_r_, s, s, s, discounted, discounted};
    Narrow(ticket);
    queue.executing.Append(ticket);
    robin_ = queue.index;
    NoteActivity(queue);
    Execute(ticket, now);
    return Verdict::kExecute;
  }
  if (closed_) {
    Reject(ticket, RejectReason::kTimeOut, now);
    return Verdict::kRejected;
  }
  Waits waits;
  waits.queue.emplace(queue.index, &queue);
  waits.limit.emplace(ticket.wait_until_, &ticket);
  resumed.own = &ticket;
  Enqueue(ticket, std::move(waits), now, resumed);
  DispatchAll(now, resumed);
  return resumed.own_dispatched ? Verdict::kExecute : Verdict::kQueued;
}

void QueueSet::Reject(Ticket& ticket, RejectReason reason, base::SteadyTime now) {
  ++rejected_;
  ticket.counts_->AddRejected(reason);
  ticket.counts_->ObserveWait(reason == RejectReason::kTimeOut, now - ticket.arrived_);
}

Queue& QueueSet::ChooseQueue(const Hand& hand) {
  // Not always beginning with the same card: flows with overlapping hands spread out.
  const auto cards = hand.cards();
  const std::size_t offset = dealt_++ % cards.size();
  Queue* best = nullptr;
  for (std::size_t i = 0; i < cards.size(); ++i) {
    Queue& queue = QueueAt(cards[(offset + i) % cards.size()]);
    if (queue.total_work == 0) return queue;
    if (best == nullptr || queue.total_work < best->total_work) best = &queue;
  }
  return *best;
}

Queue& QueueSet::QueueAt(int index) {
  const auto at = static_cast<std::size_t>(index);
  if (at >= queues_.size()) queues_.resize(at + 1);
  if (queues_[at] == nullptr) queues_[at] = std::make_unique<Queue>(index);
  return *queues_[at];
}

void QueueSet::Enqueue(Ticket& ticket, Waits waits, base::SteadyTime now, Resumed& resumed) {
  Queue& queue = *ticket.queue_;
  const int seats = ticket.work_.max_seats();
  queue.waiting.Append(ticket);
  queue.initial_seats += ticket.work_.initial_seats;
  queue.max_seats += static_cast<std::uint64_t>(seats);
  queue.total_work += ticket.total_work_;
  ticket.waiting_ = true;
  ++waiting_;
  in_flight_.Add(Phase::kWaiting, ticket.kind_, 1, now);
  seats_waiting_ += seats;
  ticket.counts_->AddWaiting(1, seats);
  waiting_queues_.merge(waits.queue);
  time_limits_.merge(waits.limit);
  resumed.wake = time_limits_.begin()->second == &ticket;
  NoteActivity(queue);
  BoundNextDispatch(queue);
}

void QueueSet::Dequeue(Ticket& ticket, base::SteadyTime now) {
  Queue& queue = *ticket.queue_;
  const int seats = ticket.work_.max_seats();
  queue.waiting.Remove(ticket);
  queue.initial_seats -= ticket.work_.initial_seats;
  queue.max_seats -= static_cast<std::uint64_t>(seats);
  queue.total_work -= ticket.total_work_;
  ticket.waiting_ = false;
  --waiting_;
  in_flight_.Add(Phase::kWaiting, ticket.kind_, -1, now);
  seats_waiting_ -= seats;
  ticket.counts_->AddWaiting(-1, -seats);
  if (queue.waiting.size == 0) waiting_queues_.erase(queue.index);
  time_limits_.erase({ticket.wait_until_, &ticket});
}

// A queue that cannot use its share does not save it up: nothing is dispatched, in the virtual
// world, before it arrived.
void QueueSet::BoundNextDispatch(Queue& queue) {
  if (queue.waiting.first == nullptr) return;
  queue.next_dispatch_r = std::max(queue.next_dispatch_r, queue.waiting.first->arrival_r_);
}

void QueueSet::DispatchAll(base::SteadyTime now, Resumed& resumed) {
  while (waiting_ > 0 && seats_in_use_ < dispatching_.seats) {
    Ticket* const ticket = TakeNext(now);
    if (ticket == nullptr) return;
    Queue& queue = *ticket->queue_;
    queue.executing.Append(*ticket);
    Execute(*ticket, now);
    BoundNextDispatch(queue);
    if (ticket == resumed.own) {
      resumed.own_dispatched = true;
    } else {
      resumed.execute.Append(*ticket);
    }
  }
}

// The oldest request of the queue that would end first, out of its queue; null if there are not
// enough seats for it: then the others wait too, or a wide request would never run.
Ticket* QueueSet::TakeNext(base::SteadyTime now) {
  Queue* best = nullptr;
  SeatSeconds earliest = kMaxSeatSeconds;
  auto bounds = last_dispatch_;
  bounds = {true, current_r_, 0, kMaxSeatSeconds, 0, kMaxSeatSeconds, 0};
  const auto consider = [&](Queue& queue) {
    const SeatSeconds s = queue.next_dispatch_r;
    const SeatSeconds discounted = s - SeatsTimesDuration(queue.seats_in_use, kEstimatedService);
    bounds.s_min = std::min(bounds.s_min, s);
    bounds.s_max = std::max(bounds.s_max, s);
    bounds.discounted_min = std::min(bounds.discounted_min, discounted);
    bounds.discounted_max = std::max(bounds.discounted_max, discounted);
    const SeatSeconds ends = s + queue.waiting.first->total_work_;
    if (best == nullptr || ends < earliest) {
      earliest = ends;
      best = &queue;
    }
  };
  const auto behind = waiting_queues_.upper_bound(robin_);
  for (auto it = behind; it != waiting_queues_.end(); ++it) consider(*it->second);
  for (auto it = waiting_queues_.begin(); it != behind; ++it) consider(*it->second);
  Ticket* const ticket = best->waiting.first;
  if (!CanAccommodate(ticket->work_.max_seats())) {
    ticket->counts_->AddNoAccommodation();
    return nullptr;
  }
  Dequeue(*ticket, now);
  Narrow(*ticket);
  robin_ = best->index;
  bounds.s = best->next_dispatch_r;
  last_dispatch_ = bounds;
  return ticket;
}

// REQUIRES: it is in the list of those that execute.
void QueueSet::Execute(Ticket& ticket, base::SteadyTime now) {
  ticket.started_ = now;
  ticket.waited_ = now - ticket.arrived_;
  ++executing_;
  ++dispatched_;
  in_flight_.Add(Phase::kExecuting, ticket.kind_, 1, now);
  ticket.counts_->AddDispatched();
  ticket.counts_->AddExecuting(1, 0);
  Occupy(ticket);
  if (ticket.queue_ != nullptr) ticket.queue_->next_dispatch_r += ticket.total_work_;
  if (queuing_.queues >= 0) ticket.counts_->ObserveWait(true, ticket.waited_);
}

// The seats after the answer are no more than the level has; they are held longer instead.
void QueueSet::Narrow(Ticket& ticket) {
  const auto limit = static_cast<std::uint64_t>(dispatching_.seats);
  if (ticket.work_.final_seats <= limit) return;
  ticket.work_.final_seats = limit;
  ticket.work_.additional_latency = DurationPerSeat(ticket.final_work_, static_cast<double>(limit));
}

void QueueSet::Occupy(Ticket& ticket) {
  const int seats = ticket.work_.max_seats();
  seats_in_use_ += seats;
  ticket.counts_->AddExecuting(0, seats);
  if (ticket.queue_ == nullptr) return;
  ticket.queue_->seats_in_use += seats;
  queue_seats_ += seats;
}

void QueueSet::Vacate(const Release& release) {
  seats_in_use_ -= release.seats;
  release.counts->AddExecuting(0, -release.seats);
  if (release.queue == nullptr) return;
  release.queue->seats_in_use -= release.seats;
  queue_seats_ -= release.seats;
}

// Keeps count of the active queues.
void QueueSet::NoteActivity(Queue& queue) {
  const bool active = queue.active();
  if (active == queue.was_active) return;
  queue.was_active = active;
  active_queues_ += active ? 1 : -1;
}

// Those at the end that are not used. kube-apiserver takes a queue out of the middle instead, and
// numbers those behind it anew.
void QueueSet::DropSurplusQueues() {
  const auto wanted = static_cast<std::size_t>(std::max(0, queuing_.queues));
  while (queues_.size() > wanted) {
    const Queue* const last = queues_.back().get();
    if (last != nullptr && (last->active() || last->seats_in_use > 0)) return;
    queues_.pop_back();
  }
}

void QueueSet::EndWait(Ticket& ticket, base::SteadyTime now) {
  Dequeue(ticket, now);
  ticket.waited_ = now - ticket.arrived_;
  ++cancelled_;
  Reject(ticket, RejectReason::kTimeOut, now);
  BoundNextDispatch(*ticket.queue_);
  NoteActivity(*ticket.queue_);
}

}  // namespace portcullis::flow_control
