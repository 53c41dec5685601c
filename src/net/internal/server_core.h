// SPDX-License-Identifier: Apache-2.0

// What the connections of one HttpsServer share: its settings and counters (ServerCore), and one
// ServerShard per I/O thread that owns the connections of that thread.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"
#include "net/internal/body_budget.h"
#include "net/internal/loop.h"
#include "net/internal/tls_context.h"
#include "net/server.h"

namespace portcullis::net::internal {

class ServerConnection;

// Counts connections of unknown clients by their addresses. Thread-safe.
class Strangers {
 public:
  // False: there are `limit` from there already (0: no limit).
  bool Add(const std::string& host, std::size_t limit) {
    if (limit == 0) return true;
    base::MutexLock lock(mutex_);
    std::size_t& count = by_host_[host];
    if (count >= limit) return false;
    ++count;
    return true;
  }
  void Remove(const std::string& host) {
    base::MutexLock lock(mutex_);
    const auto found = by_host_.find(host);
    if (found != by_host_.end() && --found->second == 0) by_host_.erase(found);
  }

 private:
  base::Mutex mutex_;
  std::unordered_map<std::string, std::size_t> by_host_ PC_GUARDED_BY(mutex_);
};

// Thread-safe.
struct ServerCore {
  ServerCore(ServerOptions server_options, Handler server_handler)
      : options(std::move(server_options)),
        handler(std::move(server_handler)),
        bodies(std::make_shared<BodyBudget>(options.bodies)) {}

  const ServerOptions options;
  const Handler handler;
  const std::shared_ptr<BodyBudget> bodies;
  Strangers strangers;
  std::atomic<std::size_t> connections{0};
  std::atomic<std::size_t> given_away{0};  // of them: no end waits for these
  std::atomic<std::size_t> exchanges{0};
  std::atomic<std::size_t> accepted{0};
  std::atomic<std::size_t> tls_errors{0};
  std::atomic<bool> draining{false};

  void Handle(std::shared_ptr<Exchange> exchange) const {
    // Go's server answers this one itself: it is about the server, not about anything on it.
    if (exchange->request().target == "*" && exchange->request().method == "OPTIONS") {
      return exchange->Respond({});
    }
    handler(std::move(exchange));
  }

  std::shared_ptr<const ServerTls> Tls() {
    base::MutexLock lock(mutex);
    return tls;
  }
  void SetTls(std::shared_ptr<const ServerTls> now) {
    base::MutexLock lock(mutex);
    tls = std::move(now);
    tls_generation.fetch_add(1, std::memory_order_release);
  }
  // How often SetTls() was called: lets connections notice without the lock.
  std::atomic<std::uint64_t> tls_generation{0};
  base::Mutex mutex;
  std::shared_ptr<const ServerTls> tls PC_GUARDED_BY(mutex);
};

// Confined to its loop's thread.
class ServerShard : public std::enable_shared_from_this<ServerShard> {
 public:
  ServerShard(std::shared_ptr<Loop> loop, std::shared_ptr<ServerCore> core)
      : loop_(std::move(loop)), core_(std::move(core)) {}

  Loop& loop() { return *loop_; }
  const std::shared_ptr<Loop>& shared_loop() { return loop_; }
  ServerCore& core() { return *core_; }

  void Adopt(int fd);
  // Sees to it that deadlines are kept, should there have been no memory for that so far.
  void EnsureTick();
  void Forget(const std::shared_ptr<ServerConnection>& connection);
  void Drain();
  void CloseAll();

  // The connection's session holds the head of a request whose body was to come along with it:
  // hands it over if that has not come in a moment.
  void AwaitBody(const std::shared_ptr<ServerConnection>& connection);

  // Scratch for building response heads.
  std::string& head_buffer() { return head_buffer_; }
  // Likewise for what leaves in one record.
  std::string& record_buffer() { return record_buffer_; }

 private:
  void ScheduleTick();
  void Tick();

  const std::shared_ptr<Loop> loop_;
  const std::shared_ptr<ServerCore> core_;
  std::unordered_set<std::shared_ptr<ServerConnection>> connections_;
  std::vector<std::weak_ptr<ServerConnection>> awaiting_bodies_;
  std::string head_buffer_;
  std::string record_buffer_;
  bool ticking_ = false;
  bool closed_ = false;
};

}  // namespace portcullis::net::internal
