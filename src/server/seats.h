// Seats: how many requests are carried out at once (--max-requests-inflight and
// --max-mutating-requests-inflight). A request takes its seat when its user is known and keeps it
// until its answer is complete: a client that does not read its answer keeps it, too.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "admission/recorder.h"
#include "server/call.h"
#include "server/options.h"

namespace portcullis::server {

// Leave() and Return() are called by the request's worker. The destructor, on any thread, gives the
// seat back; it must not block.
class Seat : public admission::Place {};

// Watches and the like are long-running: they take no seat, and --request-timeout is not for them.
bool IsLongRunning(const net::Request& request);

class Seats {
 public:
  explicit Seats(const Options& options) : options_(options) {}

  // REQUIRES: call.user is set; outlives the seat. Nothing: all seats are taken. Null: the request
  // needs none.
  std::optional<std::shared_ptr<Seat>> Take(const Call& call);

 private:
  class Counted;

  const Options& options_;
  std::atomic<int> reading_{0};
  std::atomic<int> mutating_{0};
  std::atomic<int> away_{0};  // waiting for others; not counted in the two above
};

// So many requests may wait for webhooks or for bodies without taking the place of another one.
inline constexpr int kMaxAway = 2000;

}  // namespace portcullis::server
