// SPDX-License-Identifier: Apache-2.0

// Seats: how many requests are carried out at once. A request takes its seat when its user is
// known, and keeps it until it has been answered; a watch, until it has begun.
//
// Two ways: API Priority and Fairness (--enable-priority-and-fairness), where a request may wait
// for its seat, and the plain limits --max-requests-inflight and --max-mutating-requests-inflight
// (k8s.io/apiserver/pkg/server/filters: priority-and-fairness.go, maxinflight.go). Thread-safe.
#pragma once

#include <cstdint>
#include <memory>

#include "admission/recorder.h"
#include "base/clock.h"
#include "flow_control/flow_control.h"
#include "metrics/metrics.h"
#include "server/request_info.h"

namespace portcullis::server {

struct Call;
struct Options;

// Leave() and Return() are called by the request's worker. The destructor, on any thread, gives the
// seat back; it must not block.
class Seat : public admission::Place {
 public:
  // How the request was classified; null where requests are not.
  virtual const flow_control::FlowSchema* schema() const { return nullptr; }
  // How long it has waited for the seat.
  virtual base::Duration waited() const { return {}; }
};

// Where requests that have waited go on.
class SeatReceiver {
 public:
  virtual ~SeatReceiver() = default;
  // On any thread; must not block. `taken` is false if the request is to be refused.
  virtual void OnSeat(std::shared_ptr<Call> call, bool taken) = 0;
};

class Seats {
 public:
  enum class Outcome : std::uint8_t { kTaken, kWaits, kRefused };

  virtual ~Seats() = default;
  // Sets call->seat. REQUIRES: the call's user and deadline are set, and it is not IsLongRunning()
  // or a watch. After kWaits the call is the receiver's, perhaps already.
  virtual Outcome Take(const std::shared_ptr<Call>& call, SeatReceiver& receiver) = 0;
  // A call that was refused is being answered: the seconds that Retry-After says.
  virtual std::int64_t NoteRefused(const Call& call) = 0;
  // Refuses what waits; from now on nothing waits.
  virtual void Close() = 0;
  // Brings the metrics up to now.
  virtual void Publish() = 0;
  // Null without priority and fairness.
  virtual flow_control::FlowControl* flow_control() { return nullptr; }
};

// The way that `options` ask for. All references outlive it.
std::unique_ptr<Seats> MakeSeats(const Options& options, store::Store& store,
                                 const base::Clock& clock, metrics::Registry& registry);
std::unique_ptr<Seats> MakeFlowSeats(const Options& options, store::Store& store,
                                     const base::Clock& clock, metrics::Registry& registry);
std::unique_ptr<Seats> MakePlainSeats(const Options& options, const base::Clock& clock,
                                      metrics::Registry& registry);

// Requests to which no time limit applies. Of these only watches take seats.
bool IsLongRunning(const RequestInfo& info);

// What flow control judges a request by; views of the call.
flow_control::RequestFacts FactsOf(const Call& call);

// So many requests may wait for webhooks without taking the place of another one.
inline constexpr int kMaxAway = 2000;

}  // namespace portcullis::server
