// SPDX-License-Identifier: Apache-2.0

// Dialer makes a TCP connection: resolves a host name and tries its addresses in turn. Errors are
// Go's: "dial tcp 127.0.0.1:1: connect: connection refused" (of the first address).
//
// Confined to its loop's thread. Its owner limits the time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "net/internal/loop.h"
#include "net/internal/resolver.h"

namespace portcullis::net::internal {

class Dialer final : public Sink, public std::enable_shared_from_this<Dialer> {
 public:
  // Closes a socket that is not taken.
  struct Outcome {
    Outcome(int socket, std::string where, std::string why, bool has_address)
        : fd(socket), address(std::move(where)), error(std::move(why)), resolved(has_address) {}
    ~Outcome();
    Outcome(const Outcome&) = delete;
    Outcome& operator=(const Outcome&) = delete;
    int TakeSocket() { return std::exchange(fd, -1); }

    int fd = -1;          // connected, non-blocking, not registered with the loop; -1: none
    std::string address;  // "127.0.0.1:443"
    std::string error;
    bool resolved = false;  // the error is that of a connection, not of the name
  };
  using Done = std::function<void(Outcome&)>;

  Dialer(std::shared_ptr<Loop> loop, Resolver& resolver)
      : loop_(std::move(loop)), resolver_(resolver) {}
  ~Dialer() override;

  // Once. `done` is called once, perhaps at once, unless Cancel comes first. REQUIRES: the dialer is
  // held by a shared_ptr.
  void Start(const std::string& host_port, Done done);
  void Cancel();
  // What is tried now, "" before the name is resolved.
  const std::string& address() const { return address_; }

  void OnReady(Readiness readiness) override;

 private:
  void OnResolved(Resolution resolution);
  void TryNext();
  void Unregister();
  void React();
  void Finish(int fd, std::string error, bool resolved);

  const std::shared_ptr<Loop> loop_;
  Resolver& resolver_;
  Done done_;  // null: over
  std::vector<SocketAddress> addresses_;
  std::size_t next_ = 0;
  std::string address_;
  std::string first_error_;
  int fd_ = -1;
  std::uint64_t token_ = 0;
};

}  // namespace portcullis::net::internal
