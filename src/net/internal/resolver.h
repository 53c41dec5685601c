// SPDX-License-Identifier: Apache-2.0

// Resolver turns host names into addresses without blocking a loop: literals at once, names on
// threads of its own that ask the system's resolver (getaddrinfo, so that /etc/hosts and
// nsswitch.conf count).
//
// A name server that does not answer blocks getaddrinfo for many seconds. So that one such name
// does not hold up the others, a thread is added whenever a question would have to wait, up to
// `max_threads`, and questions about a name that is being asked for share its answer.
//
// Thread-safe. The destructor does not wait for questions under way; their answers are dropped.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace portcullis::net::internal {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  std::string text;  // "127.0.0.1:443"
};

struct Resolution {
  std::vector<SocketAddress> addresses;
  std::string error;  // Go's: "lookup x.invalid on 10.0.0.2:53: no such host"
};

class Resolver {
 public:
  // Blocks until it knows; called on several threads at once.
  using Lookup = std::function<Resolution(const std::string& host, int port)>;
  using Done = std::function<void(Resolution)>;

  explicit Resolver(Lookup lookup = &AskSystem, std::size_t max_threads = 16);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // Addresses of a literal; empty if `host` is a name.
  static std::vector<SocketAddress> Literal(const std::string& host, int port);
  static Resolution AskSystem(const std::string& host, int port);
  // `done` is called on a thread of the resolver, unless the resolver is gone by then; on this one
  // if no thread can be started.
  void Resolve(const std::string& host, int port, Done done);

 private:
  struct State;
  const std::shared_ptr<State> state_;  // shared with the threads, which may outlive this
};

}  // namespace portcullis::net::internal
