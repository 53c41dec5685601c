// SPDX-License-Identifier: Apache-2.0

#include "net/internal/fiber_calls.h"

#include <utility>

#include "base/allocation_failure.h"
#include "base/fiber.h"
#include "net/internal/client_call.h"
#include "net/internal/client_core.h"
#include "net/internal/gathering.h"
#include "net/internal/loop.h"

namespace portcullis::net::internal {
namespace {

// What takes longer to judge would hold up the other work of the loop.
constexpr std::size_t kLargeAnswer = 64 * 1024;

}  // namespace

// Of the loop's own thread, which drives the connections and runs the fiber.
struct FiberCalls::Inbox {
  explicit Inbox(Loop& its_loop) : loop(its_loop) {}

  // Wakes the fiber, but not from here: a connection is in the middle of something.
  void Wake() {
    base::Fiber* const fiber = std::exchange(waiting, nullptr);
    if (fiber == nullptr) return;
    const auto resume = [fiber] { fiber->Resume(); };
    if (!base::UnlessMemoryRunsOut([&] { loop.Defer(resume); })) resume();
  }

  Loop& loop;
  // In the order of arrival. Has room for all that are under way.
  std::vector<Arrival> arrivals;
  std::size_t taken = 0;  // of the front
  base::Fiber* waiting = nullptr;
};

// A call, which owes its fiber a result, or the news that there will be none (memory ran out, or the
// loop has stopped).
class FiberCalls::FiberCall final : public ClientCall {
 public:
  FiberCall(SharedRequest client_request, base::SteadyTime call_deadline,
            std::shared_ptr<Inbox> inbox, std::size_t id)
      : ClientCall(std::move(client_request), call_deadline), inbox_(std::move(inbox)), id_(id) {}
  ~FiberCall() override {
    if (inbox_ != nullptr) Deliver(LostCall());
  }

 private:
  void Deliver(CallResult outcome) override {
    const auto inbox = std::move(inbox_);
    inbox->arrivals.push_back({id_, std::move(outcome)});
    inbox->Wake();
  }

  std::shared_ptr<Inbox> inbox_;
  const std::size_t id_;
};

FiberCalls::FiberCalls(std::shared_ptr<ClientCore> core, Loop& loop)
    : core_(std::move(core)), loop_(loop), inbox_(std::make_shared<Inbox>(loop)) {}

FiberCalls::~FiberCalls() {
  if (under_way_ == 0) return;
  for (const auto& weak : calls_) {
    if (const auto call = weak.lock()) call->Cancel();
  }
}

void FiberCalls::Start(std::size_t id, SharedRequest request, base::SteadyTime deadline,
                       RequestBody body) {
  if (elsewhere_) return elsewhere_->Start(id, std::move(request), deadline, std::move(body));
  MakeRoomFor(inbox_->arrivals, inbox_->arrivals.size() + under_way_ + 1);
  const auto call = std::make_shared<FiberCall>(std::move(request), deadline, inbox_, id);
  call->loop = loop_.shared_from_this();
  if (body.rest) call->body = std::move(body);
  calls_.push_back(call);
  ++under_way_;
  core_->Start(call, nullptr);
}

std::optional<CallSet::Arrival> FiberCalls::Next(std::optional<base::SteadyTime> until) {
  if (elsewhere_) return elsewhere_->Next(until);
  while (true) {
    if (auto arrival = Take()) {
      any_large_ = any_large_ || arrival->result.response.content().size() > kLargeAnswer;
      if (any_large_ && under_way_ == 0) Move();
      return arrival;
    }
    if (under_way_ == 0 && !until) return std::nullopt;
    if (until && loop_.now() >= *until) return std::nullopt;
    Wait(until);
  }
}

std::optional<CallSet::Arrival> FiberCalls::Take() {
  Inbox& inbox = *inbox_;
  if (inbox.taken == inbox.arrivals.size()) return std::nullopt;
  std::optional<Arrival> first(std::move(inbox.arrivals[inbox.taken++]));
  if (inbox.taken == inbox.arrivals.size()) {
    inbox.arrivals.clear();
    inbox.taken = 0;
  }
  --under_way_;
  NameIfLost(first->result);
  return first;
}

void FiberCalls::Move() {
  base::Fiber::Current()->Move();
  if (Loop::OfFiber() == nullptr) elsewhere_ = std::make_unique<Gathering>(core_);
}

void FiberCalls::Wait(std::optional<base::SteadyTime> until) {
  Loop::TimerKey timer;
  if (until) timer = loop_.At(*until, [inbox = inbox_] { inbox->Wake(); });
  inbox_->waiting = base::Fiber::Current();
  inbox_->waiting->Leave();
  if (until) loop_.Cancel(timer);
}

}  // namespace portcullis::net::internal
