// SPDX-License-Identifier: Apache-2.0

// The plain limits: so many reads and so many writes; the next one is refused, unless it comes from
// system:masters.

#include <atomic>
#include <utility>

#include "flow_control/in_flight.h"
#include "flow_control/instruments.h"
#include "server/call.h"
#include "server/options.h"
#include "server/seats.h"

namespace portcullis::server {
namespace {

using flow_control::Phase;
using flow_control::RequestKind;

bool Reads(const RequestInfo& info) {
  return info.verb == "get" || info.verb == "list" || info.verb == "watch";
}

class PlainSeats final : public Seats {
 public:
  PlainSeats(const Options& options, const base::Clock& clock, metrics::Registry& registry)
      : clock_(clock), instruments_(registry), in_flight_(registry, instruments_, clock) {
    lanes_[0].limit = options.max_requests_inflight;
    lanes_[1].limit = options.max_mutating_requests_inflight;
    for (const Lane& lane : lanes_)
      in_flight_.SetLimit(Phase::kExecuting, KindOf(lane), lane.limit);
  }

  Outcome Take(const std::shared_ptr<Call>& call, SeatReceiver&) override {
    if (call->info.verb == "watch") return Outcome::kTaken;
    Lane& lane = lanes_[Reads(call->info) ? 0 : 1];
    if (lane.limit == 0) return Outcome::kTaken;
    auto seat = std::make_shared<Counted>(*this, lane);  // before it counts: this may fail
    if (!seat->Occupy()) {
      return call->user.InGroup(api::kGroupMasters) ? Outcome::kTaken : Outcome::kRefused;
    }
    call->seat = std::move(seat);
    return Outcome::kTaken;
  }
  std::int64_t NoteRefused(const Call&) override { return 1; }
  void Close() override {}
  void Publish() override { in_flight_.Publish(); }

 private:
  struct Lane {
    int limit = 0;
    std::atomic<int> count{0};
  };

  class Counted final : public Seat {
   public:
    Counted(PlainSeats& seats, Lane& lane) : seats_(seats), lane_(lane) {}
    ~Counted() override {
      if (!occupied_) return;
      (away_ ? seats_.away_ : lane_.count).fetch_sub(1);
      seats_.in_flight_.Add(Phase::kExecuting, seats_.KindOf(lane_), -1, seats_.clock_.Steady());
    }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;

    // False if there is no place in the lane.
    bool Occupy() {
      if (lane_.count.fetch_add(1) >= lane_.limit) {
        lane_.count.fetch_sub(1);
        return false;
      }
      seats_.in_flight_.Add(Phase::kExecuting, seats_.KindOf(lane_), 1, seats_.clock_.Steady());
      occupied_ = true;
      return true;
    }
    void Leave() override {
      away_ = seats_.away_.fetch_add(1) < kMaxAway;
      (away_ ? lane_.count : seats_.away_).fetch_sub(1);
    }
    void Return() override {
      if (!std::exchange(away_, false)) return;
      seats_.away_.fetch_sub(1);
      lane_.count.fetch_add(1);
    }

   private:
    PlainSeats& seats_;
    Lane& lane_;
    bool occupied_ = false;
    bool away_ = false;
  };

  RequestKind KindOf(const Lane& lane) const {
    return &lane == &lanes_[0] ? RequestKind::kReadOnly : RequestKind::kMutating;
  }

  const base::Clock& clock_;
  flow_control::Instruments instruments_;
  flow_control::InFlight in_flight_;
  Lane lanes_[2];             // reads, writes
  std::atomic<int> away_{0};  // waiting for others; not counted in the lanes
};

}  // namespace

std::unique_ptr<Seats> MakePlainSeats(const Options& options, const base::Clock& clock,
                                      metrics::Registry& registry) {
  return std::make_unique<PlainSeats>(options, clock, registry);
}

}  // namespace portcullis::server
