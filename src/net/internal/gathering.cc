// SPDX-License-Identifier: Apache-2.0

#include "net/internal/gathering.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "net/internal/client_call.h"
#include "net/internal/client_connection.h"
#include "net/internal/client_core.h"

namespace portcullis::net::internal {
namespace {

// How often a thread looks that could not be woken up: see Arrivals::silent.
constexpr auto kLookAgain = std::chrono::milliseconds(10);

timespec TimeSpec(base::Duration left) {
  left = std::max(left, base::Duration::zero());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
  const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(left - seconds);
  return {static_cast<std::time_t>(seconds.count()), static_cast<long>(rest.count())};
}

class GatheredCall final : public ClientCall {
 public:
  GatheredCall(SharedRequest client_request, base::SteadyTime call_deadline,
               std::shared_ptr<Arrivals> arrivals, std::size_t id)
      : ClientCall(std::move(client_request), call_deadline),
        arrivals_(std::move(arrivals)),
        id_(id) {}
  ~GatheredCall() override {
    if (arrivals_ != nullptr) Deliver(LostCall());
  }

 private:
  void Deliver(CallResult outcome) override {
    std::exchange(arrivals_, nullptr)->Add(id_, std::move(outcome));
  }

  std::shared_ptr<Arrivals> arrivals_;
  const std::size_t id_;
};

}  // namespace

Arrivals::~Arrivals() {
  if (fd_ >= 0) close(fd_);
}

void Arrivals::ExpectForeign() {
  if (expects_foreign_) return;  // not later: other threads know of this
  expects_foreign_ = true;
  fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

void Arrivals::MakeRoom(std::size_t size) {
  base::MutexLock lock(mutex_);
  MakeRoomFor(queue_, size);
}

void Arrivals::Add(std::size_t id, CallResult result) {
  {
    base::MutexLock lock(mutex_);
    queue_.push_back({id, std::move(result)});
  }
  if (fd_ < 0) return;
  const std::uint64_t one = 1;
  while (write(fd_, &one, sizeof(one)) < 0 && errno == EINTR) {
  }
}

void Arrivals::Quieten() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = read(fd_, &count, sizeof(count));
}

std::optional<CallSet::Arrival> Arrivals::Take() {
  base::MutexLock lock(mutex_);
  if (queue_.empty()) return std::nullopt;
  std::optional<CallSet::Arrival> first(std::move(queue_.front()));
  queue_.erase(queue_.begin());
  NameIfLost(first->result);
  return first;
}

// The scratch buffer is left as it is.
Gathering::Gathering(std::shared_ptr<ClientCore> core)  // NOLINT(*-member-init)
    : core_(std::move(core)), arrivals_(std::make_shared<Arrivals>()) {}

Gathering::~Gathering() {
  for (const auto& connection : connections_) connection->Close();
}

void Gathering::Start(std::size_t id, SharedRequest request, base::SteadyTime deadline,
                      RequestBody body) {
  arrivals_->MakeRoom(under_way_ + 1);
  const auto call = std::make_shared<GatheredCall>(std::move(request), deadline, arrivals_, id);
  if (body.rest) call->body = std::move(body);
  ++under_way_;
  core_->Start(call, this);
}

std::optional<CallSet::Arrival> Gathering::Next(std::optional<base::SteadyTime> until) {
  while (true) {
    if (auto arrival = arrivals_->Take()) {
      --under_way_;
      return arrival;
    }
    if (under_way_ == 0 && !until) return std::nullopt;
    if (until && base::SystemClock().Steady() >= *until) return std::nullopt;
    Poll(until);
  }
}

void Gathering::Carry(std::shared_ptr<ClientConnection> connection,
                      std::shared_ptr<ClientCall> call) {
  if (connection->Carry(std::move(call), this)) connections_.push_back(std::move(connection));
}

void Gathering::Poll(std::optional<base::SteadyTime> until) {
  sockets_.clear();
  for (const auto& connection : connections_) {
    const short sending = connection->is_sending() ? POLLOUT : 0;
    sockets_.push_back({connection->fd(), static_cast<short>(POLLIN | sending), 0});
    until = until ? std::min(*until, connection->deadline()) : connection->deadline();
  }
  if (arrivals_->silent()) {
    const auto soon = base::SystemClock().Steady() + kLookAgain;
    until = until ? std::min(*until, soon) : soon;
  }
  const std::size_t polled = connections_.size();
  if (arrivals_->fd() >= 0) sockets_.push_back({arrivals_->fd(), POLLIN, 0});
  timespec left{};
  if (until) left = TimeSpec(*until - base::SystemClock().Steady());
  const int count = ppoll(sockets_.data(), sockets_.size(), until ? &left : nullptr, nullptr);
  const auto now = base::SystemClock().Steady();
  for (std::size_t i = 0; i < polled; ++i) {
    // Its call may go on over another connection, which is then added behind these.
    const auto connection = connections_[i];
    const int happened = count > 0 ? sockets_[i].revents : 0;
    if (happened != 0 && !connection->Advance((happened & ~POLLOUT) != 0)) {
      connections_[i] = nullptr;
    } else if (connection->deadline() <= now) {
      connections_[i] = nullptr;
      connection->Expire();
    }
  }
  std::erase(connections_, nullptr);
  if (sockets_.size() > polled && count > 0 && sockets_.back().revents != 0) arrivals_->Quieten();
}

}  // namespace portcullis::net::internal
