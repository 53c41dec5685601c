// SPDX-License-Identifier: Apache-2.0

#include "net/internal/body_budget.h"

#include <algorithm>
#include <utility>

namespace portcullis::net::internal {

bool BodyBudget::OwnerHasRoom(const Ticket& ticket) const {
  const auto owner = owners_.find(ticket.owner_);
  return owner->second.bytes + ticket.bytes_ <= limits_.per_owner;
}

bool BodyBudget::HasRoom(const Ticket& ticket) const {
  return reserved_ + ticket.bytes_ <= limits_.total && OwnerHasRoom(ticket);
}

bool BodyBudget::AnyoneIsNext() const {
  for (const Waiting& waiting : line_) {
    if (OwnerHasRoom(*waiting.ticket)) return true;
  }
  return false;
}

void BodyBudget::Grant(Ticket& ticket) {
  ticket.granted_ = true;
  reserved_ += ticket.bytes_;
  owners_.find(ticket.owner_)->second.bytes += ticket.bytes_;
}

std::unique_ptr<BodyBudget::Ticket> BodyBudget::Reserve(std::string owner, std::size_t bytes,
                                                        std::function<void()> on_room,
                                                        bool& granted) {
  bytes = std::min({bytes, limits_.total, limits_.per_owner});
  auto ticket = std::make_unique<Ticket>(shared_from_this(), std::move(owner), bytes);
  base::MutexLock lock(mutex_);
  ++owners_[ticket->owner_].tickets;
  ticket->counted_ = true;
  granted = HasRoom(*ticket) && !AnyoneIsNext();
  if (granted) {
    Grant(*ticket);
  } else {
    line_.push_back({ticket.get(), std::move(on_room)});
  }
  return ticket;
}

void BodyBudget::Release(Ticket& ticket) {
  std::list<Waiting> next;
  {
    base::MutexLock lock(mutex_);
    if (!ticket.counted_) return;
    const auto owner = owners_.find(ticket.owner_);
    if (ticket.granted_) {
      reserved_ -= ticket.bytes_;
      owner->second.bytes -= ticket.bytes_;
    } else {
      line_.remove_if([&](const Waiting& waiting) { return waiting.ticket == &ticket; });
    }
    if (--owner->second.tickets == 0) owners_.erase(owner);
    next = GrantInLine();
  }
  for (const Waiting& waiting : next) waiting.on_room();
}

std::list<BodyBudget::Waiting> BodyBudget::GrantInLine() {
  std::list<Waiting> granted;
  for (auto at = line_.begin(); at != line_.end();) {
    const auto next = at++;
    if (!OwnerHasRoom(*next->ticket)) continue;
    if (!HasRoom(*next->ticket)) break;
    Grant(*next->ticket);
    granted.splice(granted.end(), line_, next);
  }
  return granted;
}

std::size_t BodyBudget::reserved() const {
  base::MutexLock lock(mutex_);
  return reserved_;
}

std::size_t BodyBudget::waiting() const {
  base::MutexLock lock(mutex_);
  return line_.size();
}

}  // namespace portcullis::net::internal
