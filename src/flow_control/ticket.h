// SPDX-License-Identifier: Apache-2.0

// Ticket: one request in the hands of flow control, from its arrival to its end. The server derives
// from it; flow control keeps what it has to remember about the request inside it.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "flow_control/request_kind.h"
#include "flow_control/shuffle_sharding.h"
#include "flow_control/work.h"

namespace portcullis::flow_control {

class FlowControl;
class FlowCounts;
class QueueSet;
struct Queue;
struct Snapshot;
struct FlowSchema;

// Requests that are not told apart: of one FlowSchema, with one distinguisher.
struct Flow {
  std::string distinguisher;
  Hand hand;
};

// Seats that stay taken for a while after a request has ended, and from when on they are free.
struct Release {
  Queue* queue = nullptr;
  FlowCounts* counts = nullptr;
  int seats = 0;
};
using Releases = std::multimap<base::SteadyTime, Release>;

// What /debug/api_priority_and_fairness/dump_requests shows of a request on demand.
struct RequestDetails {
  std::string user_name, verb, path, ns, name, api_version, resource, subresource;
};

// Used by one thread at a time, except that flow control reads it under its own locks until
// Finish() has returned.
class Ticket {
 public:
  Ticket() = default;
  virtual ~Ticket() = default;
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;

  // The end of the wait of a request that was queued: its turn has come (`execute`), or its time is
  // up. Called once, on any thread, perhaps before Begin() has returned; must not
  // block, nor call flow control, nor throw (other requests are in the caller's hands).
  virtual void Resume(bool execute) = 0;
  // Called on any thread while the request waits or executes.
  virtual RequestDetails Describe() const = 0;

  // How the request was classified; null before. Lives as long as the ticket.
  const FlowSchema* schema() const { return schema_; }
  base::Duration waited() const { return waited_; }

 private:
  friend class FlowControl;
  friend class QueueSet;
  friend struct TicketList;

  std::shared_ptr<const Snapshot> snapshot_;
  const FlowSchema* schema_ = nullptr;
  bool is_watch_ = false;
  RequestKind kind_ = RequestKind::kReadOnly;
  base::SteadyTime wait_until_;
  base::Duration waited_{0};

  // Guarded by the lock of the level's QueueSet.
  std::shared_ptr<const Flow> flow_;  // null if the level tells no flows apart
  FlowCounts* counts_ = nullptr;
  Queue* queue_ = nullptr;  // null: the level has no queues
  WorkEstimate work_;
  SeatSeconds total_work_ = 0;
  SeatSeconds final_work_ = 0;
  SeatSeconds arrival_r_ = 0;
  base::SteadyTime arrived_;
  base::SteadyTime started_;
  base::SteadyTime left_;   // see QueueSet::Leave
  base::Duration away_{0};  // likewise
  bool waiting_ = false;
  bool is_away_ = false;
  // Made when the request arrives, since Finish() must not fail; empty if there is none to come.
  Releases::node_type release_;
  Ticket* next_resumed_ = nullptr;  // among those resumed together
  Ticket* previous_ = nullptr;      // in the list of those that wait in, or execute from, its queue
  Ticket* next_ = nullptr;
};

// Tickets in the order in which they came. Does not own them.
struct TicketList {
  Ticket* first = nullptr;
  Ticket* last = nullptr;
  int size = 0;

  void Append(Ticket& ticket);
  void Remove(Ticket& ticket);
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (Ticket* at = first; at != nullptr; at = at->next_) visit(*at);
  }
};

}  // namespace portcullis::flow_control
