// SPDX-License-Identifier: Apache-2.0

#include "net/internal/body_budget.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace portcullis::net::internal {

bool BodyBudget::OwnerHasRoom(const Ticket& ticket) const {
  const auto found = by_owner_.find(ticket.owner_);
  const std::size_t held = found == by_owner_.end() ? 0 : found->second;
  return held + ticket.bytes_ <= limits_.per_owner;
}

bool BodyBudget::HasRoom(const Ticket& ticket) const {
  return reserved_ + ticket.bytes_ <= limits_.total && OwnerHasRoom(ticket);
}

bool BodyBudget::AnyoneIsNext() const {
  for (const Ticket* waiting : line_) {
    if (OwnerHasRoom(*waiting)) return true;
  }
  return false;
}

void BodyBudget::Grant(Ticket& ticket) {
  ticket.granted_ = true;
  reserved_ += ticket.bytes_;
  by_owner_[ticket.owner_] += ticket.bytes_;
}

std::unique_ptr<BodyBudget::Ticket> BodyBudget::Reserve(std::string owner, std::size_t bytes,
                                                        std::function<void()> on_room,
                                                        bool& granted) {
  bytes = std::min({bytes, limits_.total, limits_.per_owner});
  auto ticket = std::make_unique<Ticket>(shared_from_this(), std::move(owner), bytes);
  base::MutexLock lock(mutex_);
  granted = HasRoom(*ticket) && !AnyoneIsNext();
  if (granted) {
    Grant(*ticket);
  } else {
    ticket->waiting_ = std::move(on_room);
    line_.push_back(ticket.get());
  }
  return ticket;
}

void BodyBudget::Release(Ticket& ticket) {
  std::vector<std::function<void()>> callbacks;
  {
    base::MutexLock lock(mutex_);
    if (ticket.granted_) {
      reserved_ -= ticket.bytes_;
      const auto owned = by_owner_.find(ticket.owner_);
      owned->second -= ticket.bytes_;
      if (owned->second == 0) by_owner_.erase(owned);
    } else {
      line_.remove(&ticket);
    }
    callbacks = GrantInLine();
  }
  for (const auto& callback : callbacks) callback();
}

std::vector<std::function<void()>> BodyBudget::GrantInLine() {
  std::vector<std::function<void()>> callbacks;
  for (auto at = line_.begin(); at != line_.end();) {
    Ticket& next = **at;
    if (!OwnerHasRoom(next)) {
      ++at;
      continue;
    }
    if (!HasRoom(next)) break;
    Grant(next);
    callbacks.push_back(std::move(next.waiting_));
    at = line_.erase(at);
  }
  return callbacks;
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
