// SPDX-License-Identifier: Apache-2.0

// Many watches, one connection each, that cost this process little.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "options.h"

using SSL_CTX = struct ssl_ctx_st;
using SSL = struct ssl_st;

namespace portcullis::load {

enum class WatchProtocol { kHttp1, kHttp2 };

// Blocking; used by one thread at a time.
class Watchers {
 public:
  static base::Result<std::unique_ptr<Watchers>> Create(const TargetOptions& server,
                                                        WatchProtocol protocol);
  ~Watchers();
  Watchers(const Watchers&) = delete;
  Watchers& operator=(const Watchers&) = delete;

  // So many more watches of `path`, which have been answered when this returns.
  base::Status AddMany(const std::string& path, std::size_t count);
  // Reads from every connection until `mark` has arrived.
  base::Status AwaitAll(const std::string& mark);
  // Reads what comes on a thread of its own, and throws it away, until this object ends.
  base::Status StartReading();
  // Of those that are read: how many the server has ended.
  std::size_t ended() const { return ended_; }
  std::size_t size() const { return watches_.size(); }

 private:
  struct Connection {
    int fd = -1;
    SSL* ssl = nullptr;
  };
  Watchers() = default;
  base::Status Open(const std::string& path, Connection& watch) const;
  static base::Status Await(const Connection& connection, const std::string& mark);

  WatchProtocol protocol_ = WatchProtocol::kHttp1;
  void ReadAll();

  int port_ = 0;
  std::string token_;
  int poll_ = -1;  // epoll, of those that are read
  std::atomic<bool> stopping_{false};
  std::atomic<std::size_t> ended_{0};
  std::thread reader_;
  SSL_CTX* context_ = nullptr;
  std::vector<Connection> watches_;
};

}  // namespace portcullis::load
