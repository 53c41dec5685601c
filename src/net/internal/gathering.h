// SPDX-License-Identifier: Apache-2.0

// Gathering is a thread that waits for calls: it drives the connections that carry them by itself,
// with poll(2), and is woken for those that an I/O thread carries.
#pragma once

#include <poll.h>

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "net/client.h"

namespace portcullis::net::internal {

class ClientCall;
class ClientConnection;
class ClientCore;

// Results on their way to the thread that waits. Shared with the calls, so that a late one finds
// it. Thread-safe but for ExpectForeign.
class Arrivals {
 public:
  ~Arrivals();
  // Other threads will add: from now on `fd` becomes readable when one has. By the waiting thread.
  void ExpectForeign();
  int fd() const { return fd_; }  // -1: no other thread adds, or no descriptor was to be had
  // Others may add without waking the waiting thread, which therefore has to look now and then.
  bool silent() const { return expects_foreign_ && fd_ < 0; }
  void MakeRoom(std::size_t size);  // for so many at once: Add needs no memory
  void Add(std::size_t id, CallResult result);
  std::optional<CallSet::Arrival> Take();
  void Quieten();  // makes `fd` unreadable; to be followed by Take

 private:
  bool expects_foreign_ = false;  // these two are set before another thread knows of this
  int fd_ = -1;
  base::Mutex mutex_;
  std::vector<CallSet::Arrival> queue_ PC_GUARDED_BY(mutex_);
};

// Confined to its thread.
class Gathering final : public CallSet {
 public:
  explicit Gathering(std::shared_ptr<ClientCore> core);
  ~Gathering() override;

  void Start(std::size_t id, SharedRequest request, base::SteadyTime deadline,
             RequestBody body) override;
  std::optional<Arrival> Next(std::optional<base::SteadyTime> until) override;

  // --- for the core and for connections

  // Carries the call on this thread. `connection` has been taken from the pool.
  void Carry(std::shared_ptr<ClientConnection> connection, std::shared_ptr<ClientCall> call);
  void ExpectForeign() { arrivals_->ExpectForeign(); }
  std::span<char> scratch() { return scratch_; }

 private:
  // Until something has happened, or `until`.
  void Poll(std::optional<base::SteadyTime> until);

  const std::shared_ptr<ClientCore> core_;
  const std::shared_ptr<Arrivals> arrivals_;
  std::vector<std::shared_ptr<ClientConnection>> connections_;  // what this thread drives
  std::vector<pollfd> sockets_;
  std::size_t under_way_ = 0;
  std::array<char, 16 * 1024> scratch_;  // one TLS record; never initialized
};

}  // namespace portcullis::net::internal
