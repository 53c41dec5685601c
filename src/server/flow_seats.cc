// SPDX-License-Identifier: Apache-2.0

// Seats by API Priority and Fairness: flow control decides, and a thread keeps its time.

#include <atomic>
#include <charconv>
#include <optional>
#include <thread>
#include <utility>

#include "base/allocation_failure.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "server/call.h"
#include "server/options.h"
#include "server/seats.h"

namespace portcullis::server {
namespace {

using flow_control::FlowControl;
using flow_control::ListFacts;
using flow_control::Verdict;

constexpr base::Duration kLongestWait = std::chrono::minutes(1);
// When there is no memory to tell when something is to be done.
constexpr base::Duration kLookAgain = std::chrono::milliseconds(100);

// A quarter of the time that the request has, or would have if it were no watch.
base::SteadyTime WaitUntil(const Call& call, const Options& options) {
  const base::SteadyTime received = call.started;
  const base::Duration allowed = call.info.verb == "watch" ? base::Duration(options.request_timeout)
                                                           : call.deadline - received;
  return received + std::min(allowed / 4, kLongestWait);
}

// The number in a query; false if it is none. What is not there is 0.
bool ReadNumber(std::string_view text, std::int64_t& number) {
  if (text.empty()) return true;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

ListFacts ReadList(const Query& query) {
  ListFacts list;
  std::int64_t timeout = 0;
  list.malformed = !ReadNumber(query.Get("limit"), list.limit) ||
                   !ReadNumber(query.Get("timeoutSeconds"), timeout);
  list.resource_version = query.Get("resourceVersion");
  list.resource_version_match = query.Get("resourceVersionMatch");
  list.continue_token = query.Get("continue");
  list.field_selector = query.Get("fieldSelector");
  list.label_selector = query.Get("labelSelector");
  list.send_initial_events = query.GetBool("sendInitialEvents");
  return list;
}

class FlowSeat final : public Seat, public flow_control::Ticket {
 public:
  FlowSeat(FlowControl& flow_control, std::atomic<int>& away_count, SeatReceiver& receiver,
           const Call& call)
      : flow_control_(flow_control),
        away_count_(away_count),
        receiver_(receiver),
        request_(call.request()),
        user_name_(call.user.name) {}
  ~FlowSeat() override {
    Return();
    if (taken_) flow_control_.Finish(*this);
  }

  const flow_control::FlowSchema* schema() const override { return Ticket::schema(); }
  base::Duration waited() const override { return Ticket::waited(); }

  void Leave() override {
    away_ = away_count_.fetch_add(1) < kMaxAway;
    if (away_) {
      flow_control_.Leave(*this);
    } else {
      away_count_.fetch_sub(1);
    }
  }
  void Return() override {
    if (!std::exchange(away_, false)) return;
    away_count_.fetch_sub(1);
    flow_control_.Return(*this);
  }

  // Until the wait is over the seat keeps the call alive.
  void Keep(std::shared_ptr<Call> call) { call_ = std::move(call); }
  void Drop() { call_ = nullptr; }
  void SetTaken() { taken_ = true; }
  void GiveUp() { flow_control_.Cancel(*this); }

  void Resume(bool execute) override {
    taken_ = execute;
    receiver_.OnSeat(std::move(call_), execute);
  }

  flow_control::RequestDetails Describe() const override {
    const RequestInfo info = ParseRequestInfo(request_.method, request_.target);
    const std::string version = info.api_group.empty()
                                    ? info.api_version
                                    : base::StrCat(info.api_group, "/", info.api_version);
    return {user_name_, info.verb, info.path,     info.name_space,
            info.name,  version,   info.resource, info.subresource};
  }

 private:
  FlowControl& flow_control_;
  std::atomic<int>& away_count_;
  SeatReceiver& receiver_;
  const net::Request& request_;  // of the exchange or the call, which outlives the seat
  const std::string user_name_;
  std::shared_ptr<Call> call_;
  bool taken_ = false;
  bool away_ = false;
};

class FlowSeats final : public Seats {
 public:
  FlowSeats(const Options& options, store::Store& store, const base::Clock& clock,
            metrics::Registry& registry)
      : options_(options),
        clock_(clock),
        flow_control_(options.max_requests_inflight + options.max_mutating_requests_inflight, store,
                      clock, registry, [this] { Wake(); }),
        thread_([this] { Run(); }) {}

  ~FlowSeats() override {
    {
      const base::MutexLock lock(mutex_);
      stopping_ = true;
    }
    changed_.NotifyOne();
    thread_.join();
  }

  Outcome Take(const std::shared_ptr<Call>& call, SeatReceiver& receiver) override {
    const RequestInfo& info = call->info;
    const auto seat = std::make_shared<FlowSeat>(flow_control_, away_count_, receiver, *call);
    call->seat = seat;
    const bool lists = info.verb == "list" ||
                       (info.verb == "watch" && call->env.release->GateEnabled("WatchList"));
    const ListFacts list = lists ? ReadList(info.query) : ListFacts();
    Verdict verdict = Verdict::kRejected;
    {
      Keeping keeping(*seat, call);
      verdict = flow_control_.Begin(*seat, FactsOf(*call), lists ? &list : nullptr,
                                    WaitUntil(*call, options_));
      if (verdict == Verdict::kQueued) keeping.Leave();
    }
    if (verdict == Verdict::kExecute) {
      seat->SetTaken();
      return Outcome::kTaken;
    }
    if (verdict != Verdict::kQueued) return Outcome::kRefused;
    // Of a watch somebody else hears of its end, who may have begun it already. Without memory for
    // this the request waits to the end.
    if (info.verb != "watch" && call->exchange != nullptr) {
      base::UnlessMemoryRunsOut([&] { GiveUpWith(*call->exchange, seat); });
    }
    return Outcome::kWaits;
  }

  std::int64_t NoteRefused(const Call& call) override {
    return flow_control_.NoteRejected(static_cast<const FlowSeat&>(*call.seat));
  }
  void Close() override { flow_control_.Close(); }
  void Publish() override { flow_control_.Publish(); }
  FlowControl* flow_control() override { return &flow_control_; }

 private:
  // While it exists the seat keeps the call, which may be resumed before Begin() has returned.
  class Keeping {
   public:
    Keeping(FlowSeat& seat, const std::shared_ptr<Call>& call) : seat_(&seat) { seat.Keep(call); }
    ~Keeping() {
      if (seat_ != nullptr) seat_->Drop();
    }
    Keeping(const Keeping&) = delete;
    Keeping& operator=(const Keeping&) = delete;
    void Leave() { seat_ = nullptr; }  // the seat keeps it from now on

   private:
    FlowSeat* seat_;
  };

  // If the client goes, its request waits no more.
  static void GiveUpWith(net::Exchange& exchange, const std::weak_ptr<FlowSeat>& waiting) {
    exchange.OnClosed([waiting] {
      if (const auto seat = waiting.lock()) seat->GiveUp();
    });
  }

  void Wake() {
    {
      const base::MutexLock lock(mutex_);
      woken_ = true;
    }
    changed_.NotifyOne();
  }

  void Run() {
    for (;;) {
      std::optional<base::SteadyTime> next = clock_.Steady() + kLookAgain;
      base::UnlessMemoryRunsOut([&] { next = flow_control_.NextEvent(); });
      {
        const base::MutexLock lock(mutex_);
        while (!stopping_ && !woken_) {
          if (!next) {
            changed_.Wait(mutex_);
          } else if (!changed_.WaitUntil(mutex_, *next)) {
            break;
          }
        }
        if (stopping_) return;
        woken_ = false;
      }
      base::UnlessMemoryRunsOut([&] { flow_control_.Advance(); });
    }
  }

  const Options& options_;
  const base::Clock& clock_;
  std::atomic<int> away_count_{0};
  base::Mutex mutex_;
  base::CondVar changed_;
  bool woken_ PC_GUARDED_BY(mutex_) = false;
  bool stopping_ PC_GUARDED_BY(mutex_) = false;
  FlowControl flow_control_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Seats> MakeFlowSeats(const Options& options, store::Store& store,
                                     const base::Clock& clock, metrics::Registry& registry) {
  return std::make_unique<FlowSeats>(options, store, clock, registry);
}

}  // namespace portcullis::server
