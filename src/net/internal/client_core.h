// SPDX-License-Identifier: Apache-2.0

// ClientCore is what the calls of an HttpsClient share: the pool of connections, and who gets one.
// HTTP/2 connections (Http2Carrier) are no part of the pool: each loop keeps its own, for all of its calls.
//
// A connection is driven by one at a time: by its I/O loop while it is made, and for calls with a
// callback; by the thread that waits (Gathering) for calls on connections that were kept. In the
// pool it has no owner: the thread that takes it out, for a call or to close it, has it alone.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"
#include "net/client.h"
#include "net/internal/resolver.h"
#include "net/url.h"

namespace portcullis::net::internal {

class ClientCall;
class ClientConnection;
class Gathering;
class Http2Carrier;
class Loop;
class Stream;

// What connections must have in common to be interchangeable: scheme and host:port of the URL, TLS
// identity, the proxy ("" for none), and whether the address comes from a resolve function.
using PoolKey = std::tuple<std::string, const ClientTls*, std::string, bool>;
using PoolKeyView = std::tuple<std::string_view, const ClientTls*, std::string_view, bool>;

// A connection on which the server has chosen HTTP/2; no loop knows it.
struct Http2Handover {
  PoolKey key;
  std::shared_ptr<const ClientTls> tls;  // the key's: no other one gets its address meanwhile
  std::shared_ptr<Loop> loop;            // that is to drive it
  std::string address;
  std::unique_ptr<Stream> stream;
};

// Thread-safe.
class ClientCore : public std::enable_shared_from_this<ClientCore> {
 public:
  ClientCore(IoThreads& threads, const ClientOptions& options);
  ~ClientCore();

  // Begins a call. `waiter`: the calling thread, which will wait; null: an I/O thread does all, that
  // of call->loop if it has one: then this must be that thread.
  void Start(const std::shared_ptr<ClientCall>& call, Gathering* waiter);
  // Gives the call to a kept connection or makes one: for the first time or, after a redirect or a
  // connection that had died unnoticed, once more.
  void Dispatch(const std::shared_ptr<ClientCall>& call, Gathering* waiter);
  const ClientOptions& options() const { return options_; }
  Resolver& resolver() { return resolver_; }

  // Into the pool. False: it is not wanted there, and remains the caller's, who is to close it.
  bool Keep(const std::shared_ptr<ClientConnection>& connection);
  // The server has hung up. True: the connection was idle, and is the caller's now.
  bool TakeHungUp(const ClientConnection& connection);
  // The same if the connection has been idle for too long by `now`; if not, `next` is when to ask
  // again.
  bool TakeExpired(const ClientConnection& connection, base::SteadyTime now,
                   base::SteadyTime& next);
  void Forget(const std::shared_ptr<ClientConnection>& connection);

  // Carries the call on that connection or, if its loop has got another one to that server meanwhile, on
  // that. On that loop's thread.
  void CarryByHttp2(const std::shared_ptr<ClientCall>& call, Http2Handover made);
  void Forget(const std::shared_ptr<Http2Carrier>& carrier);

  void CloseIdle();
  void CloseAll();
  ClientCounters counters() const;

 private:
  struct Idle {
    std::shared_ptr<ClientConnection> connection;
    base::SteadyTime since;
  };
  // So that a list is found without a key being made.
  struct ByView {
    using is_transparent = void;
    bool operator()(const PoolKeyView& a, const PoolKeyView& b) const { return a < b; }
  };
  using IdleList = std::vector<Idle>;  // the last one became idle last
  // An empty list stays as long as a connection that was in it: that one will come back.
  using IdleMap = std::map<PoolKey, IdleList, ByView>;
  using Http2Map = std::map<PoolKey, std::vector<std::shared_ptr<Http2Carrier>>, ByView>;

  // One that takes calls, of `loop` unless that is null.
  std::shared_ptr<Http2Carrier> FindHttp2(const PoolKeyView& key, const Loop* loop);
  void CarryByHttp2(const std::shared_ptr<ClientCall>& call,
                    const std::shared_ptr<Http2Carrier>& carrier, Gathering* waiter);
  std::vector<std::shared_ptr<Http2Carrier>> Http2Carriers();

  // The one that became idle last, of `loop` unless that is null.
  std::shared_ptr<ClientConnection> TakeIdle(const PoolKeyView& key, const Loop* loop);
  // True if it was idle since then, or longer. `since`, if not null: since when it is idle.
  bool TakeIdle(const ClientConnection& connection, base::SteadyTime idle_since_before,
                base::SteadyTime* since) PC_REQUIRES(mutex_);
  void Remove(IdleList& list, IdleList::iterator entry) PC_REQUIRES(mutex_);
  void Connect(const std::shared_ptr<ClientCall>& call, PoolKey key,
               std::shared_ptr<const ClientTls> tls, std::optional<Url> proxy);
  std::shared_ptr<const ClientTls> DefaultTls();

  const ClientOptions options_;
  IoThreads& threads_;
  Resolver resolver_;
  mutable base::Mutex mutex_;
  IdleMap idle_ PC_GUARDED_BY(mutex_);
  Http2Map http2_ PC_GUARDED_BY(mutex_);
  std::unordered_set<std::shared_ptr<ClientConnection>> all_ PC_GUARDED_BY(mutex_);
  std::shared_ptr<const ClientTls> default_tls_ PC_GUARDED_BY(mutex_);
  ClientCounters counters_ PC_GUARDED_BY(mutex_);
  bool closed_ PC_GUARDED_BY(mutex_) = false;
};

}  // namespace portcullis::net::internal
