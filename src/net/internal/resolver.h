// Resolver turns host names into addresses without blocking a loop: literals at once, names on a
// thread of its own that asks the system's resolver.
//
// Thread-safe. The destructor waits for the question under way.
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
  Resolver();
  ~Resolver();

  // Addresses of a literal; empty if `host` is a name.
  static std::vector<SocketAddress> Literal(const std::string& host, int port);
  // `done` is called on the resolver's thread.
  void Resolve(std::string host, int port, std::function<void(Resolution)> done);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace portcullis::net::internal
