// SPDX-License-Identifier: Apache-2.0

// BodyBudget shares out the memory for request bodies: so much in total and for each owner.
// Reservations are of whole bodies and made before those are read, so whatever was granted can be
// completed. Who finds no room waits in line; an owner at its limit does not hold up others.
//
// Thread-safe. Callbacks run on the thread that has released what they waited for, outside the
// lock. Only Reserve() allocates: the end of a reservation cannot fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/mutex.h"
#include "net/server.h"

namespace portcullis::net::internal {

class BodyBudget : public std::enable_shared_from_this<BodyBudget> {
 public:
  explicit BodyBudget(const BodyLimits& limits) : limits_(limits) {}

  // A reservation, or a place in the line for one. Ends with its destruction.
  class Ticket {
   public:
    Ticket(std::shared_ptr<BodyBudget> budget, std::string owner, std::size_t bytes)
        : budget_(std::move(budget)), owner_(std::move(owner)), bytes_(bytes) {}
    ~Ticket() { budget_->Release(*this); }
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;

   private:
    friend class BodyBudget;
    const std::shared_ptr<BodyBudget> budget_;
    const std::string owner_;
    const std::size_t bytes_;
    bool counted_ = false;  // among the tickets of its owner; guarded by the budget's mutex
    bool granted_ = false;  // likewise
  };

  // Reserves `bytes`, or a whole share if that is less. `granted` is true if there was room; else
  // `on_room` is called when there is. It may still be called, or under way, when the ticket ends.
  std::unique_ptr<Ticket> Reserve(std::string owner, std::size_t bytes,
                                  std::function<void()> on_room, bool& granted);

  std::size_t reserved() const;
  std::size_t waiting() const;

 private:
  struct Owner {
    std::size_t bytes = 0;    // granted
    std::size_t tickets = 0;  // granted or in the line; without any it is erased
  };
  struct Waiting {
    Ticket* ticket;
    std::function<void()> on_room;
  };

  bool OwnerHasRoom(const Ticket& ticket) const PC_REQUIRES(mutex_);
  bool HasRoom(const Ticket& ticket) const PC_REQUIRES(mutex_);
  // Whether somebody in the line waits for the total alone. Small bodies are not granted past it:
  // they would keep large ones out.
  bool AnyoneIsNext() const PC_REQUIRES(mutex_);
  void Grant(Ticket& ticket) PC_REQUIRES(mutex_);
  void Release(Ticket& ticket);
  // Takes those that have room now out of the line.
  std::list<Waiting> GrantInLine() PC_REQUIRES(mutex_);

  const BodyLimits limits_;
  mutable base::Mutex mutex_;
  std::size_t reserved_ PC_GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::string, Owner> owners_ PC_GUARDED_BY(mutex_);
  std::list<Waiting> line_ PC_GUARDED_BY(mutex_);  // first come, first served
};

}  // namespace portcullis::net::internal
