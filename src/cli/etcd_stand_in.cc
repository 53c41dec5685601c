// SPDX-License-Identifier: Apache-2.0

#include "cli/etcd_stand_in.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string_view>

#include "base/file.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/server_process.h"
#include "flags/setters.h"
#include "golang/netip.h"

namespace portcullis::cli {
namespace {

constexpr int kRequestMilliseconds = 2000;

struct Options {
  std::string listen_client_urls = "http://localhost:2379";
  std::string ignored;
};

constexpr flags::Flag<Options> Ignored(std::string_view name) {
  return {.name = name,
          .type = flags::Type::kString,
          .default_text = "",
          .meaning = "",
          .set = &flags::SetText<&Options::ignored>,
          .note = "nothing is kept"};
}

// Those that envtest gives. --help must show unsafe-no-fsync: envtest looks for it.
constexpr flags::Flag<Options> kFlags[] = {
    Ignored("advertise-client-urls"),
    Ignored("data-dir"),
    {.name = "listen-client-urls",
     .type = flags::Type::kString,
     .default_text = "http://localhost:2379",
     .meaning = "Address to listen on, http://HOST:PORT",
     .set = &flags::SetText<&Options::listen_client_urls>},
    Ignored("listen-peer-urls"),
    Ignored("log-level"),
    Ignored("unsafe-no-fsync"),
};

// The listening socket.
base::Result<int> Listen(std::string_view urls) {
  std::string_view address = urls.substr(0, urls.find(','));
  constexpr std::string_view kScheme = "http://";
  if (address.starts_with(kScheme)) address.remove_prefix(kScheme.size());
  const auto [host, port] = TRY(golang::SplitHostPort(address));
  const auto ip = golang::ParseIp(host == "localhost" ? "127.0.0.1" : host);
  const auto number = base::ParseInt(port);
  if (!ip || ip->is_v6 || !number || *number < 0 || *number > 65535) {
    return base::ConfigError(base::StrCat("--listen-client-urls=", urls,
                                          ": must be http://HOST:PORT with an IPv4 address"));
  }
  sockaddr_in socket_address{};
  socket_address.sin_family = AF_INET;
  socket_address.sin_port = htons(static_cast<std::uint16_t>(*number));
  inet_pton(AF_INET, ip->ToString().c_str(), &socket_address.sin_addr);
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(listener, reinterpret_cast<const sockaddr*>(&socket_address), sizeof(socket_address)) ==
          0 &&
      listen(listener, SOMAXCONN) == 0) {
    return listener;
  }
  const int error = errno;
  close(listener);
  return base::ConfigError(
      base::StrCat("listen tcp ", address, ": bind: ", base::ErrnoText(error)));
}

// Reads one request of no interest beyond its path, answers, closes.
void Answer(int connection) {
  std::string request;
  std::array<char, 4096> buffer{};
  while (request.find("\r\n\r\n") == std::string::npos && request.size() < buffer.size()) {
    pollfd waiting{connection, POLLIN, 0};
    if (poll(&waiting, 1, kRequestMilliseconds) <= 0) break;
    const ssize_t count = read(connection, buffer.data(), buffer.size());
    if (count <= 0) break;
    request.append(buffer.data(), static_cast<std::size_t>(count));
  }
  const bool is_health = request.find(" /health") != std::string::npos;
  const std::string body = is_health ? R"({"health":"true","reason":""})"
                                     : R"({"etcdserver":"3.6.0","etcdcluster":"3.6.0"})";
  const std::string answer =
      base::StrCat("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n",
                   "Content-Length: ", std::to_string(body.size()), "\r\n\r\n", body);
  (void)send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
  close(connection);
}

void Serve(int listener, const sigset_t& signals) {
  const int stop = signalfd(-1, &signals, SFD_CLOEXEC);
  std::array<pollfd, 2> waiting = {pollfd{listener, POLLIN, 0}, pollfd{stop, POLLIN, 0}};
  while (true) {
    if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return;
    if (waiting[1].revents != 0) return;
    if (waiting[0].revents == 0) continue;
    const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection >= 0) Answer(connection);
  }
}

}  // namespace

int RunEtcdStandIn(const std::vector<std::string>& arguments) {
  Options options;
  const auto line = flags::Parse<Options>(kFlags, arguments, {"etcd"}, options);
  if (!line.ok()) {
    std::fprintf(stderr, "Error: %s\n", line.status().message().c_str());
    return kExitUsage;
  }
  if (line->help) {
    const std::string help = flags::Help(flags::InfosOf<Options>(kFlags));
    std::printf("A stand-in for etcd, for envtest: it keeps nothing.\n\n%s", help.c_str());
    return kExitOk;
  }
  const sigset_t signals = BlockSignals({SIGINT, SIGTERM});
  const auto listener = Listen(options.listen_client_urls);
  if (!listener.ok()) {
    std::fprintf(stderr, "Error: %s\n", listener.status().message().c_str());
    return kExitUsage;
  }
  Serve(*listener, signals);
  close(*listener);
  return kExitOk;
}

}  // namespace portcullis::cli
