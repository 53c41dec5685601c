// SPDX-License-Identifier: Apache-2.0

// HTTP/2 of the client: any frames of a server behind its first.
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "net/http2_client.h"
#include "net/testing/http2_peer.h"

namespace net = portcullis::net;

namespace {

// What the server says, and whether the client has heard the end of it.
struct Shared {
  std::mutex mutex;
  std::condition_variable condition;
  std::string bytes;
  bool closed = false;
};

class User final : public net::Http2Receiver, public net::Http2Listener {
 public:
  explicit User(Shared& shared) : shared_(shared) {}
  void OnConnected() override {
    const net::Http2Field head[] = {
        {":method", "POST"}, {":scheme", "http"}, {":authority", "a"}, {":path", "/"}};
    connection->Start(head, {.front = "body"}, true, *this);
    connection->Start(head, {.front = "body"}, false, *this);
  }
  void OnDraining(const net::Http2Goaway&) override {}
  void OnClosed(const std::string&) override {
    const std::lock_guard<std::mutex> lock(shared_.mutex);
    if (ends_ > 2) std::abort();
    shared_.closed = true;
    shared_.condition.notify_all();
  }
  void OnField(std::string_view, std::string_view) override {}
  void OnData(std::string_view) override {}
  void OnEnd(const net::Http2End&) override { ++ends_; }

  std::shared_ptr<net::Http2Connection> connection;

 private:
  Shared& shared_;
  int ends_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool quiet = std::signal(SIGPIPE, SIG_IGN) != SIG_ERR;
  static Shared shared;
  static net::testing::RawServer server([](net::testing::RawPeer& peer, int) {
    std::string bytes;
    {
      const std::lock_guard<std::mutex> lock(shared.mutex);
      bytes = shared.bytes;
    }
    peer.Send(net::testing::h2::Settings() + bytes);
    peer.ShutdownWrite();
    peer.ReadToEnd();
  });
  static net::IoThreads threads(1);
  static const net::IoLoop loop(threads);
  static const auto client = net::Http2Client::Create(loop);
  if (!quiet) return 0;
  {
    const std::lock_guard<std::mutex> lock(shared.mutex);
    shared.bytes.assign(reinterpret_cast<const char*>(data), size);
    shared.closed = false;
  }
  User user(shared);
  loop.RunAndWait([&] {
    user.connection = client->Connect({.host_port = "127.0.0.1:" + std::to_string(server.port()),
                                       .tls = nullptr,
                                       .server_name = {}},
                                      {}, user);
  });
  {
    std::unique_lock<std::mutex> lock(shared.mutex);
    shared.condition.wait(lock, [] { return shared.closed; });
  }
  loop.RunAndWait([&] { user.connection.reset(); });
  return 0;
}
