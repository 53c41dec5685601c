// SPDX-License-Identifier: Apache-2.0

#include "net/internal/body_budget.h"

#include <algorithm>
#include <utility>

namespace portcullis::net::internal {

std::unique_ptr<BodyBudget::Ticket> BodyBudget::Reserve(std::string owner, std::size_t bytes,
                                                        std::function<void()> on_room,
                                                        bool& granted) {
  bytes = std::min({bytes, limits_.total, limits_.per_owner});
  auto ticket = std::make_unique<Ticket>(shared_from_this(), std::move(owner), bytes);
  std::list<Waiting> place;
  place.push_back({ticket.get(), std::move(on_room)});
  base::MutexLock lock(mutex_);
  Owner& of = owners_[ticket->owner_];
  if (of.waiting >= kMaxWaiting) return nullptr;
  ++of.tickets;
  ++of.waiting;
  ticket->state_ = State::kBeyondShare;
  ticket->place_ = place.begin();
  of.line.splice(of.line.end(), place);
  Admit(of);
  // Those before it have found no room already.
  Grant();
  granted = ticket->state_ == State::kGranted;
  return ticket;
}

void BodyBudget::Admit(Owner& owner) {
  while (!owner.line.empty()) {
    Ticket& first = *owner.line.front().ticket;
    if (owner.bytes + first.bytes_ > limits_.per_owner) return;
    owner.bytes += first.bytes_;
    first.state_ = State::kInLine;
    line_.splice(line_.end(), owner.line, owner.line.begin());
  }
}

std::list<BodyBudget::Waiting> BodyBudget::Grant() {
  std::list<Waiting> granted;
  while (!line_.empty()) {
    Ticket& first = *line_.front().ticket;
    if (reserved_ + first.bytes_ > limits_.total) break;
    reserved_ += first.bytes_;
    first.state_ = State::kGranted;
    --owners_.find(first.owner_)->second.waiting;
    granted.splice(granted.end(), line_, line_.begin());
  }
  return granted;
}

void BodyBudget::Release(Ticket& ticket) {
  std::list<Waiting> next;
  std::list<Waiting> left;
  {
    base::MutexLock lock(mutex_);
    if (ticket.state_ == State::kNew) return;
    const auto found = owners_.find(ticket.owner_);
    Owner& owner = found->second;
    if (ticket.state_ != State::kBeyondShare) owner.bytes -= ticket.bytes_;
    if (ticket.state_ == State::kGranted) {
      reserved_ -= ticket.bytes_;
    } else {
      --owner.waiting;
      left.splice(left.end(), ticket.state_ == State::kInLine ? line_ : owner.line, ticket.place_);
    }
    Admit(owner);
    next = Grant();
    if (--owner.tickets == 0) owners_.erase(found);
  }
  for (const Waiting& waiting : next) waiting.on_room();
}

std::size_t BodyBudget::reserved() const {
  base::MutexLock lock(mutex_);
  return reserved_;
}

std::size_t BodyBudget::waiting() const {
  base::MutexLock lock(mutex_);
  std::size_t waiting = 0;
  for (const auto& [name, owner] : owners_) waiting += owner.waiting;
  return waiting;
}

}  // namespace portcullis::net::internal
