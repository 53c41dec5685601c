// SPDX-License-Identifier: Apache-2.0

// HTTP/2 of the server: any frames behind the preface of a client.
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/testing/test_server.h"

namespace net = portcullis::net;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool quiet = std::signal(SIGPIPE, SIG_IGN) != SIG_ERR;
  static net::testing::TestServer server(net::testing::Echo);
  const auto peer = net::testing::RawPeer::ConnectTls(server.server->port(), {.alpn = "h2"});
  if (!quiet || peer == nullptr) return 0;
  constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  constexpr std::string_view kNoSettings("\0\0\0\4\0\0\0\0\0", 9);
  std::string bytes(kPreface);
  bytes.append(kNoSettings).append(reinterpret_cast<const char*>(data), size);
  peer->Send(bytes);
  peer->ShutdownWrite();
  peer->ReadToEnd();
  return 0;
}
