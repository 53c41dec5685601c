// SPDX-License-Identifier: Apache-2.0

// BodyBudget shares out the memory for request bodies: so much in total and for each owner.
// Reservations are of whole bodies and made before those are read, so whatever was granted can be
// completed. A body beyond its owner's share waits in the owner's own line, one within it in the line
// for the total: an owner at its limit does not hold up others. All calls take constant time.
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
  // Of an owner; more are refused. Each may hold a head and a connection.
  static constexpr std::size_t kMaxWaiting = 1000;

  explicit BodyBudget(const BodyLimits& limits) : limits_(limits) {}

  class Ticket;

 private:
  struct Waiting {
    Ticket* ticket;
    std::function<void()> on_room;
  };
  enum class State : std::uint8_t { kNew, kBeyondShare, kInLine, kGranted };

 public:
  // A reservation, or a place in a line for one. Ends with its destruction.
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
    // Guarded by the budget's mutex.
    State state_ = State::kNew;
    std::list<Waiting>::iterator place_;  // while it waits
  };

  // Reserves `bytes`, or a whole share if that is less. `granted` is true if there was room; else
  // `on_room` is called when there is. It may still be called, or under way, when the ticket ends.
  // Null: kMaxWaiting of the owner wait.
  std::unique_ptr<Ticket> Reserve(std::string owner, std::size_t bytes,
                                  std::function<void()> on_room, bool& granted);

  std::size_t reserved() const;
  std::size_t waiting() const;

 private:
  struct Owner {
    std::size_t bytes = 0;    // granted or in the line for the total
    std::size_t tickets = 0;  // without any it is erased
    std::size_t waiting = 0;  // of them, not granted
    std::list<Waiting> line;  // beyond its share; first come, first served
  };

  void Release(Ticket& ticket);
  // Lets those who are within their owner's share now into the line for the total.
  void Admit(Owner& owner) PC_REQUIRES(mutex_);
  // Takes those who have room now out of that line.
  std::list<Waiting> Grant() PC_REQUIRES(mutex_);

  const BodyLimits limits_;
  mutable base::Mutex mutex_;
  std::size_t reserved_ PC_GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::string, Owner> owners_ PC_GUARDED_BY(mutex_);
  std::list<Waiting> line_ PC_GUARDED_BY(mutex_);  // for the total; first come, first served
};

}  // namespace portcullis::net::internal
