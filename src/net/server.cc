// SPDX-License-Identifier: Apache-2.0

#include "net/server.h"

#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/allocation_failure.h"
#include "base/file.h"
#include "base/strings.h"
#include "golang/netip.h"
#include "net/internal/server_connection.h"
#include "net/internal/server_core.h"

namespace portcullis::net {
namespace {

using internal::Loop;
using internal::Readiness;
using internal::ServerCore;
using internal::ServerShard;

constexpr int kBacklog = 4096;
constexpr auto kRetryAccept = std::chrono::milliseconds(100);

// Takes connections from the listening socket and deals them out to the shards in turn. Confined to
// its loop's thread.
class Acceptor final : public internal::Sink {
 public:
  Acceptor(std::shared_ptr<Loop> loop, std::shared_ptr<ServerCore> core,
           std::vector<std::shared_ptr<ServerShard>> shards, int fd)
      : loop_(std::move(loop)), core_(std::move(core)), shards_(std::move(shards)), fd_(fd) {}
  ~Acceptor() override {
    if (fd_ >= 0) close(fd_);
  }

  // Without a registration there will be no connections at all, so that is an error.
  base::Status Begin() {
    const auto token = loop_->TryAdd(fd_, *this);
    if (token.ok()) {
      token_ = *token;
      return base::OkStatus();
    }
    close(fd_);
    fd_ = -1;
    return token.status();
  }

  void OnReady(Readiness readiness) override {
    (void)readiness;
    Accept();
  }

  void Stop() {
    if (fd_ < 0) return;
    loop_->Remove(token_, fd_);
    loop_->Cancel(retry_);
    close(fd_);
    fd_ = -1;
  }

 private:
  void Accept() {
    while (fd_ >= 0) {
      const int fd = accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) {
        if (errno == EINTR || errno == ECONNABORTED) continue;
        if (errno == EAGAIN) return;
        // Out of file descriptors: there will be no other edge, so look again soon.
        retry_ = loop_->At(loop_->now() + kRetryAccept, [this] { Accept(); });
        return;
      }
      core_->accepted.fetch_add(1, std::memory_order_relaxed);
      if (core_->connections.fetch_add(1) >= core_->options.max_connections) {
        core_->connections.fetch_sub(1);
        close(fd);
        continue;
      }
      const auto& shard = shards_[next_++ % shards_.size()];
      if (shard->shared_loop() == loop_) {
        shard->Adopt(fd);
      } else if (!Post(shard, fd)) {
        core_->connections.fetch_sub(1);
        close(fd);
      }
    }
  }

  // False: the shard has stopped, or there is no memory for the task. The client must not wait then.
  static bool Post(const std::shared_ptr<ServerShard>& shard, int fd) {
    bool posted = false;
    base::UnlessMemoryRunsOut(
        [&] { posted = shard->shared_loop()->Post([shard, fd] { shard->Adopt(fd); }); });
    return posted;
  }

  const std::shared_ptr<Loop> loop_;
  const std::shared_ptr<ServerCore> core_;
  const std::vector<std::shared_ptr<ServerShard>> shards_;
  int fd_;
  std::uint64_t token_ = 0;
  std::size_t next_ = 0;
  Loop::TimerKey retry_;
};

base::Status ListenError(const std::string& address, std::string_view operation, int error) {
  return base::ConfigError(
      base::StrCat("listen tcp ", address, ": ", operation, ": ", base::ErrnoText(error)));
}

base::Result<int> BindSocket(const std::string& address) {
  const auto [host, port] = TRY(golang::SplitHostPort(address));
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.empty() ? "::" : host.c_str(), port.c_str(), &hints, &found) != 0 ||
      found == nullptr) {
    return base::ConfigError(
        base::StrCat("listen tcp: lookup ", host, ": no such host or invalid port ", port));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return ListenError(address, "socket", errno);
  const int on = 1;
  const int off = 0;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (host.empty()) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  std::string_view failed;
  if (bind(fd, found->ai_addr, found->ai_addrlen) != 0) {
    failed = "bind";
  } else if (listen(fd, kBacklog) != 0) {
    failed = "listen";
  }
  if (failed.empty()) return fd;
  const int error = errno;
  close(fd);
  return ListenError(address, failed, error);
}

class Server final : public HttpsServer {
 public:
  Server(IoThreads& threads, ServerOptions options, Handler handler, int fd)
      : core_(std::make_shared<ServerCore>(std::move(options), std::move(handler))),
        address_(internal::LocalAddress(fd)) {
    core_->SetTls(core_->options.tls);
    for (std::size_t i = 0; i < threads.size(); ++i) {
      shards_.push_back(std::make_shared<ServerShard>(threads.At(i), core_));
    }
    acceptor_loop_ = threads.At(0);
    acceptors_.push_back(std::make_unique<Acceptor>(acceptor_loop_, core_, shards_, fd));
  }

  base::Status Begin() {
    base::Status begun;
    acceptor_loop_->RunAndWait([&] { begun = acceptors_.back()->Begin(); });
    return begun;
  }

  base::Status AlsoListen(const std::string& address) override {
    const int fd = TRY(BindSocket(address));
    acceptors_.push_back(std::make_unique<Acceptor>(acceptor_loop_, core_, shards_, fd));
    return Begin();
  }

  ~Server() override {
    StopAccepting();
    for (auto& shard : shards_) {
      shard->loop().RunAndWait([&shard] { shard->CloseAll(); });
    }
  }

  const std::string& address() const override { return address_; }

  int port() const override {
    const auto colon = address_.rfind(':');
    return static_cast<int>(base::ParseInt(address_.substr(colon + 1)).value_or(0));
  }

  void SetTls(std::shared_ptr<const ServerTls> tls) override { core_->SetTls(std::move(tls)); }

  ServerCounters counters() const override {
    return {.open_connections = core_->connections,
            .open_exchanges = core_->exchanges,
            .accepted = core_->accepted,
            .tls_errors = core_->tls_errors,
            .body_bytes = core_->bodies->reserved(),
            .waiting_bodies = core_->bodies->waiting()};
  }

  bool Shutdown(std::chrono::milliseconds grace) override {
    StopAccepting();
    core_->draining = true;
    for (auto& shard : shards_) {
      shard->loop().RunAndWait([&shard] { shard->Drain(); });
    }
    const auto& clock = base::SystemClock();
    const auto deadline = clock.Steady() + grace;
    while (core_->connections > core_->given_away && clock.Steady() < deadline) {
      timespec pause{.tv_sec = 0, .tv_nsec = 2'000'000};
      nanosleep(&pause, nullptr);
    }
    const bool complete = core_->connections <= core_->given_away;
    for (auto& shard : shards_) {
      shard->loop().RunAndWait([&shard] { shard->CloseAll(); });
    }
    return complete;
  }

 private:
  void StopAccepting() {
    acceptor_loop_->RunAndWait([this] {
      for (const auto& acceptor : acceptors_) acceptor->Stop();
    });
  }

  const std::shared_ptr<ServerCore> core_;
  const std::string address_;
  std::vector<std::shared_ptr<ServerShard>> shards_;
  std::shared_ptr<Loop> acceptor_loop_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;  // one for each address
};

}  // namespace

base::Result<std::unique_ptr<HttpsServer>> HttpsServer::Listen(IoThreads& threads,
                                                               ServerOptions options,
                                                               Handler handler) {
  const int fd = TRY(BindSocket(options.address));
  const std::string address = options.address;
  auto server = std::make_unique<Server>(threads, std::move(options), std::move(handler), fd);
  const base::Status begun = server->Begin();
  if (!begun.ok()) return begun.Annotate(base::StrCat("listen tcp ", address));
  return std::unique_ptr<HttpsServer>(std::move(server));
}

}  // namespace portcullis::net
