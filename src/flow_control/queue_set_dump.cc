// SPDX-License-Identifier: Apache-2.0

// What a QueueSet shows of itself: dumps and metrics.
#include <algorithm>

#include "flow_control/queue.h"
#include "flow_control/queue_set.h"

namespace portcullis::flow_control {
namespace {

// Of a level with millions of queues a dump shows the first ones, and all that have been used.
constexpr std::size_t kShownUnused = 10'000;

}  // namespace

RequestDump QueueSet::DumpOf(const Ticket& ticket, bool with_details) {
  RequestDump dump;
  dump.schema = ticket.counts_->schema();
  if (ticket.flow_ != nullptr) dump.distinguisher = ticket.flow_->distinguisher;
  dump.arrived = ticket.arrived_;
  if (!ticket.waiting_) dump.started = ticket.started_;
  dump.work = ticket.work_;
  if (with_details) dump.details = ticket.Describe();
  return dump;
}

QueueSetDump QueueSet::Dump(bool with_details) const {
  const base::MutexLock lock(mutex_);
  QueueSetDump dump;
  const auto add = [&](std::vector<RequestDump>& out, const TicketList& list) {
    for (const Ticket* at = list.first; at != nullptr; at = at->next_) {
      out.push_back(DumpOf(*at, with_details));
    }
  };
  const auto wanted = static_cast<std::size_t>(std::max(0, queuing_.queues));
  dump.queues.resize(std::max(queues_.size(), std::min(wanted, kShownUnused)));
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    if (queues_[i] == nullptr) continue;
    const Queue& queue = *queues_[i];
    QueueDump& out = dump.queues[i];
    add(out.waiting, queue.waiting);
    add(out.executing, queue.executing);
    out.seats_in_use = queue.seats_in_use;
    out.next_dispatch_r = queue.next_dispatch_r;
    out.initial_seats = queue.initial_seats;
    out.max_seats = queue.max_seats;
    out.total_work = queue.total_work;
  }
  add(dump.queueless, queueless_);
  dump.waiting = waiting_;
  dump.executing = executing_;
  dump.seats_in_use = seats_in_use_;
  dump.seats_waiting = seats_waiting_;
  dump.dispatched = dispatched_;
  dump.rejected = rejected_;
  dump.cancelled = cancelled_;
  return dump;
}

void QueueSet::Publish() {
  const base::MutexLock lock(mutex_);
  const base::SteadyTime now = SyncTime();
  waiting_use_.Flush(now);
  executing_use_.Flush(now);
  seat_use_.Flush(now);
  demand_use_.Flush(now);
  for (const auto& [schema, counts] : counts_) counts->Publish();
  instruments_.current_r.With({name_}).Set(ToDouble(current_r_));
  if (!last_dispatch_.known) return;
  instruments_.dispatch_r.With({name_}).Set(ToDouble(last_dispatch_.r));
  instruments_.latest_s.With({name_}).Set(ToDouble(last_dispatch_.s));
  instruments_.next_s.With({name_, "min"}).Set(ToDouble(last_dispatch_.s_min));
  instruments_.next_s.With({name_, "max"}).Set(ToDouble(last_dispatch_.s_max));
  instruments_.next_discounted_s.With({name_, "min"}).Set(ToDouble(last_dispatch_.discounted_min));
  instruments_.next_discounted_s.With({name_, "max"}).Set(ToDouble(last_dispatch_.discounted_max));
}

}  // namespace portcullis::flow_control
