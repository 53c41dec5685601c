// SPDX-License-Identifier: Apache-2.0

// Follower keeps a watch over etcd and hands on what it tells, in order of revisions.
//
// A cache cannot know that it is up to date if the newest revisions belong to keys it does not see.
// Where etcd answers a request for progress correctly, the follower watches the prefix and requests
// progress. Before 3.4.31 and 3.5.13 the answer may overtake events (etcd's issue 15220): there it
// watches all keys, so that every revision comes with an event.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "etcd/client.h"

namespace portcullis::store {

class Follower final : private etcd::WatchReceiver {
 public:
  // On the client's loop. Everything up to `revision` has been told.
  using EventsDone =
      std::function<void(std::int64_t revision, std::vector<etcd::WatchEvent> events)>;
  // On the client's loop: the watch is over, and what came after the last event is unknown.
  using LostDone = std::function<void(const base::Status& why)>;
  struct Receiver {
    EventsDone on_events;
    LostDone on_lost;
    std::function<void()> on_connected;  // on the client's loop: the watch begins, or goes on
  };

  // `client` outlives it. `prefix` with the slash at its end.
  Follower(etcd::Client& client, std::string prefix, bool has_exact_progress, Receiver receiver);
  ~Follower() override;

  // Begins behind `revision`. REQUIRES: there is no watch.
  void Start(std::int64_t revision) PC_EXCLUDES(mutex_);
  // Ends the watch, and forgets what Reach() has asked for: everything is read after this. Not on the
  // client's loop.
  void Stop() PC_EXCLUDES(mutex_);
  // Makes the receiver hear soon that this revision is reached, also if its key is none of the prefix.
  void Reach(std::int64_t revision) PC_EXCLUDES(mutex_);
  // To be called now and then: etcd leaves a request for progress without an answer while the watch
  // has not caught up (its progressIfSync), and then only another one is answered.
  void Remind() PC_EXCLUDES(mutex_);

 private:
  void OnEvents(std::int64_t revision, std::vector<etcd::WatchEvent> events) override;
  void OnEnd(base::Status why, std::int64_t compact_revision) override;
  void OnCreated(std::int64_t revision) override;
  void OnInterrupted(const base::Status& why) override;
  void RequestProgress() PC_REQUIRES(mutex_);

  etcd::Client& client_;
  const std::string prefix_;
  const bool has_exact_progress_;
  const Receiver receiver_;
  base::Mutex mutex_;
  std::unique_ptr<etcd::Watch> watch_ PC_GUARDED_BY(mutex_);
  std::int64_t seen_ PC_GUARDED_BY(mutex_) = 0;
  std::int64_t wanted_ PC_GUARDED_BY(mutex_) = 0;
  bool is_requested_ PC_GUARDED_BY(mutex_) = false;
};

// Whether this version of etcd answers a request for progress after all events up to its revision.
bool HasExactProgress(std::string_view version);
// Whether all members do; one that does not answer in time may come back as any version. Blocks. Not on
// the client's loop.
bool HaveExactProgress(etcd::Client& client, const std::vector<std::string>& endpoints,
                       base::SteadyTime deadline);

}  // namespace portcullis::store
