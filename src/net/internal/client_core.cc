// SPDX-License-Identifier: Apache-2.0

#include "net/internal/client_core.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/allocation_failure.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "net/internal/client_call.h"
#include "net/internal/client_connection.h"
#include "net/internal/gathering.h"
#include "net/internal/http2_carrier.h"
#include "net/internal/tls_context.h"

namespace portcullis::net::internal {
namespace {

constexpr std::string_view kCanceled = "context canceled";

}  // namespace

ClientCore::ClientCore(IoThreads& threads, const ClientOptions& options)
    : options_(options), threads_(threads) {}

ClientCore::~ClientCore() = default;

void ClientCore::Start(const std::shared_ptr<ClientCall>& call, Gathering* waiter) {
  call->max_response_bytes = call->request->max_response_bytes > 0
                                 ? call->request->max_response_bytes
                                 : options_.max_response_bytes;
  call->prepared = call->request->prepared;
  if (call->prepared == nullptr) {
    auto prepared = Prepare(*call->request);
    if (!prepared.ok()) return call->Fail(CallPhase::kRequest, prepared.status().message());
    call->prepared = *std::move(prepared);
  }
  const Url& url = call->url();
  if (url.scheme != "https" && url.scheme != "http") {
    return call->Fail(CallPhase::kRequest,
                      base::StrCat("unsupported protocol scheme ", base::GoQuote(url.scheme)));
  }
  if (url.host.empty()) {
    return call->Fail(CallPhase::kRequest, "http: no Host in request URL");
  }
  if (base::SystemClock().Steady() >= call->deadline) {
    return call->Fail(CallPhase::kConnect, "context deadline exceeded");
  }
  Dispatch(call, waiter);
}

void ClientCore::Dispatch(const std::shared_ptr<ClientCall>& call, Gathering* waiter) {
  const Url& url = call->url();
  std::shared_ptr<const ClientTls> tls;
  if (url.scheme == "https") tls = call->request->tls ? call->request->tls : DefaultTls();
  std::optional<Url> proxy;
  const auto& proxies = call->request->proxies ? call->request->proxies : options_.proxies;
  if (proxies) proxy = proxies->For(url);
  const std::string proxy_text = proxy ? proxy->ToString() : std::string();
  const PoolKeyView key{call->prepared->origin, tls.get(), proxy_text,
                        call->request->resolve != nullptr && !proxy};
  if (tls != nullptr && static_cast<const ClientTlsContext&>(*tls).offers_http2()) {
    if (const auto carrier = FindHttp2(key, call->loop.get())) {
      return CarryByHttp2(call, carrier, waiter);
    }
  }
  while (auto connection = TakeIdle(key, call->loop.get())) {
    if (!connection->IsSound()) {
      connection->Close();
      continue;
    }
    if (waiter != nullptr) return waiter->Carry(std::move(connection), call);
    if (call->loop != nullptr) {
      connection->Carry(call, nullptr);
      return;
    }
    auto& loop = connection->loop();
    if (!loop.Post([connection, call] { connection->CarryOnLoop(call); })) {
      call->Fail(CallPhase::kConnect, std::string(kCanceled));
    }
    return;
  }
  if (waiter != nullptr) waiter->ExpectForeign();
  Connect(call, std::make_from_tuple<PoolKey>(key), std::move(tls), std::move(proxy));
}

void ClientCore::CarryByHttp2(const std::shared_ptr<ClientCall>& call,
                              const std::shared_ptr<Http2Carrier>& carrier, Gathering* waiter) {
  if (waiter != nullptr) waiter->ExpectForeign();
  if (call->loop != nullptr) return carrier->Carry(call);
  if (!carrier->loop().RunOrPost([carrier, call] { carrier->Carry(call); })) {
    call->Fail(CallPhase::kConnect, std::string(kCanceled));
  }
}

void ClientCore::CarryByHttp2(const std::shared_ptr<ClientCall>& call, Http2Handover made) {
  const auto& [origin, tls, proxy, resolved] = made.key;
  if (const auto other = FindHttp2({origin, tls, proxy, resolved}, made.loop.get())) {
    made.stream->ShutdownWrite();
    return other->Carry(call);
  }
  const auto carrier = std::make_shared<Http2Carrier>(shared_from_this(), std::move(made));
  bool is_kept = false;
  base::UnlessMemoryRunsOut([&] {
    carrier->Begin();
    base::MutexLock lock(mutex_);
    if (closed_) return;
    http2_[carrier->key()].push_back(carrier);
    is_kept = true;
  });
  if (is_kept) return carrier->Carry(call);
  carrier->Abort();
  call->Fail(CallPhase::kConnect, std::string(kCanceled));
}

std::shared_ptr<Http2Carrier> ClientCore::FindHttp2(const PoolKeyView& key, const Loop* loop) {
  base::MutexLock lock(mutex_);
  const auto found = http2_.find(key);
  if (found == http2_.end()) return nullptr;
  for (const auto& carrier : found->second) {
    if (carrier->takes_calls() && (loop == nullptr || &carrier->loop() == loop)) return carrier;
  }
  return nullptr;
}

void ClientCore::Forget(const std::shared_ptr<Http2Carrier>& carrier) {
  base::MutexLock lock(mutex_);
  const auto found = http2_.find(carrier->key());
  if (found == http2_.end()) return;
  std::erase(found->second, carrier);
  if (found->second.empty()) http2_.erase(found);
}

std::vector<std::shared_ptr<Http2Carrier>> ClientCore::Http2Carriers() {
  base::MutexLock lock(mutex_);
  std::vector<std::shared_ptr<Http2Carrier>> all;
  for (const auto& [key, carriers] : http2_)
    all.insert(all.end(), carriers.begin(), carriers.end());
  return all;
}

void ClientCore::Connect(const std::shared_ptr<ClientCall>& call, PoolKey key,
                         std::shared_ptr<const ClientTls> tls, std::optional<Url> proxy) {
  std::string target = call->url().HostPort();
  if (proxy) {
    target = proxy->HostPort();
  } else if (call->request->resolve) {
    auto resolved = call->request->resolve(target);
    if (!resolved.ok()) return call->Fail(CallPhase::kResolve, resolved.status().message());
    target = std::move(*resolved);
  }
  const auto loop = call->loop != nullptr ? call->loop : threads_.Next();
  auto connection = std::make_shared<ClientConnection>(shared_from_this(), loop, std::move(key),
                                                       std::move(tls), std::move(proxy));
  bool refused = false;
  {
    base::MutexLock lock(mutex_);
    refused = closed_;
    if (!closed_) {
      all_.insert(connection);
      ++counters_.connections_opened;
    }
  }
  if (refused || !loop->Post([connection, call, target] { connection->Connect(call, target); })) {
    call->Fail(CallPhase::kConnect, std::string(kCanceled));
  }
}

std::shared_ptr<ClientConnection> ClientCore::TakeIdle(const PoolKeyView& key, const Loop* loop) {
  base::MutexLock lock(mutex_);
  const auto found = idle_.find(key);
  if (found == idle_.end()) return nullptr;
  IdleList& list = found->second;
  const auto fits = [loop](const Idle& idle) {
    return loop == nullptr || &idle.connection->loop() == loop;
  };
  const auto last = std::find_if(list.rbegin(), list.rend(), fits);
  if (last == list.rend()) return nullptr;
  auto connection = std::move(last->connection);
  Remove(list, last.base() - 1);
  return connection;
}

void ClientCore::Remove(IdleList& list, IdleList::iterator entry) {
  list.erase(entry);
  --counters_.connections_idle;
}

bool ClientCore::TakeIdle(const ClientConnection& connection, base::SteadyTime idle_since_before,
                          base::SteadyTime* since) {
  const auto list = idle_.find(connection.key());
  if (list == idle_.end()) return false;
  const auto entry = std::find_if(list->second.begin(), list->second.end(), [&](const Idle& idle) {
    return idle.connection.get() == &connection;
  });
  if (entry == list->second.end()) return false;
  if (since != nullptr) *since = entry->since;
  if (entry->since > idle_since_before) return false;
  Remove(list->second, entry);
  return true;
}

bool ClientCore::Keep(const std::shared_ptr<ClientConnection>& connection) {
  base::MutexLock lock(mutex_);
  if (closed_ || connection->hung_up) return false;
  auto& list = idle_[connection->key()];
  if (list.size() >= options_.max_idle_per_host) return false;
  list.push_back({connection, base::SystemClock().Steady()});
  ++counters_.connections_idle;
  return true;
}

bool ClientCore::TakeHungUp(const ClientConnection& connection) {
  base::MutexLock lock(mutex_);
  return TakeIdle(connection, base::SteadyTime::max(), nullptr);
}

bool ClientCore::TakeExpired(const ClientConnection& connection, base::SteadyTime now,
                             base::SteadyTime& next) {
  base::MutexLock lock(mutex_);
  base::SteadyTime since = now;
  if (TakeIdle(connection, now - options_.idle_timeout, &since)) return true;
  next = since + options_.idle_timeout;
  return false;
}

void ClientCore::Forget(const std::shared_ptr<ClientConnection>& connection) {
  base::MutexLock lock(mutex_);
  all_.erase(connection);
  const auto list = idle_.find(connection->key());
  if (list != idle_.end() && list->second.empty()) idle_.erase(list);
}

void ClientCore::CloseIdle() {
  IdleMap idle;
  {
    base::MutexLock lock(mutex_);
    idle.swap(idle_);
    counters_.connections_idle = 0;
  }
  for (const auto& [key, list] : idle) {
    for (const auto& entry : list) {
      entry.connection->loop().RunAndWait([&entry] { entry.connection->Close(); });
    }
  }
  for (const auto& carrier : Http2Carriers()) {
    carrier->loop().RunAndWait([&carrier] { carrier->CloseIfIdle(); });
  }
}

void ClientCore::CloseAll() {
  std::vector<std::shared_ptr<ClientConnection>> all;
  {
    base::MutexLock lock(mutex_);
    closed_ = true;
    all.assign(all_.begin(), all_.end());
  }
  CloseIdle();
  for (const auto& connection : all) {
    connection->loop().RunAndWait([&connection] { connection->Abort(); });
  }
  for (const auto& carrier : Http2Carriers()) {
    carrier->loop().RunAndWait([&carrier] { carrier->Abort(); });
  }
}

std::shared_ptr<const ClientTls> ClientCore::DefaultTls() {
  base::MutexLock lock(mutex_);
  if (!default_tls_) {
    auto made = ClientTls::Create({});
    if (made.ok()) default_tls_ = std::move(*made);
  }
  return default_tls_;
}

ClientCounters ClientCore::counters() const {
  base::MutexLock lock(mutex_);
  return counters_;
}

}  // namespace portcullis::net::internal
