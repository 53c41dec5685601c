// SPDX-License-Identifier: Apache-2.0

#include "net/internal/dialer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/allocation_failure.h"
#include "base/file.h"
#include "base/strings.h"
#include "golang/netip.h"

namespace portcullis::net::internal {

Dialer::Outcome::~Outcome() {
  if (fd >= 0) close(fd);
}

Dialer::~Dialer() {
  if (fd_ >= 0) close(fd_);
}

void Dialer::Start(const std::string& host_port, Done done) {
  done_ = std::move(done);
  const auto split = golang::SplitHostPort(host_port);
  if (!split.ok()) return Finish(-1, base::StrCat("dial tcp: ", split.status().message()), false);
  const auto port = base::ParseInt(split->second);
  if (!port || *port < 0 || *port > 65535) {
    return Finish(-1, base::StrCat("dial tcp: address ", split->second, ": invalid port"), false);
  }
  Resolution literal;
  literal.addresses = Resolver::Literal(split->first, static_cast<int>(*port));
  if (!literal.addresses.empty()) return OnResolved(std::move(literal));
  resolver_.Resolve(split->first, static_cast<int>(*port),
                    [weak = weak_from_this(), loop = loop_](Resolution resolution) {
                      loop->Post([weak, found = std::move(resolution)]() mutable {
                        if (const auto self = weak.lock()) self->OnResolved(std::move(found));
                      });
                    });
}

void Dialer::OnResolved(Resolution resolution) {
  if (!done_) return;
  if (resolution.addresses.empty()) {
    return Finish(-1, base::StrCat("dial tcp: ", resolution.error), false);
  }
  addresses_ = std::move(resolution.addresses);
  TryNext();
}

void Dialer::TryNext() {
  Unregister();
  while (next_ < addresses_.size()) {
    const SocketAddress& address = addresses_[next_++];
    address_ = address.text;
    fd_ = socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int result =
        fd_ < 0 ? -1
                : connect(fd_, reinterpret_cast<const sockaddr*>(&address.storage), address.size);
    if (result != 0 && errno != EINPROGRESS) {
      if (first_error_.empty()) {
        first_error_ = base::StrCat("dial tcp ", address_, ": ",
                                    fd_ < 0 ? "socket: " : "connect: ", base::ErrnoText(errno));
      }
      if (fd_ >= 0) close(std::exchange(fd_, -1));
      continue;
    }
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    token_ = loop_->Add(fd_, *this);
    return;
  }
  Finish(-1, first_error_, true);
}

void Dialer::OnReady(Readiness readiness) {
  if (!readiness.writable && !readiness.broken) return;
  const auto self = shared_from_this();
  if (base::UnlessMemoryRunsOut([this] { React(); }) || !done_) return;
  base::UnlessMemoryRunsOut([this] { Finish(-1, "cannot allocate memory", true); });
}

void Dialer::React() {
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) {
    if (first_error_.empty()) {
      first_error_ = base::StrCat("dial tcp ", address_, ": connect: ", base::ErrnoText(error));
    }
    return TryNext();
  }
  loop_->Remove(token_, fd_);
  Finish(std::exchange(fd_, -1), {}, true);
}

void Dialer::Unregister() {
  if (fd_ < 0) return;
  loop_->Remove(token_, fd_);
  close(std::exchange(fd_, -1));
}

void Dialer::Cancel() {
  done_ = nullptr;
  Unregister();
}

void Dialer::Finish(int fd, std::string error, bool resolved) {
  Outcome outcome(fd, address_, std::move(error), resolved);
  std::exchange(done_, nullptr)(outcome);
}

}  // namespace portcullis::net::internal
