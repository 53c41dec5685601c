// ClientCore is the pool of an HttpsClient; ClientConnection one connection of it, which carries
// one call at a time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"
#include "net/client.h"
#include "net/internal/client_call.h"
#include "net/internal/http1_parser.h"
#include "net/internal/loop.h"
#include "net/internal/resolver.h"
#include "net/internal/stream.h"
#include "net/internal/write_queue.h"

namespace portcullis::net::internal {

// What connections must have in common to be interchangeable: scheme and host:port of the URL, TLS
// identity, and whether the address comes from a resolve function.
using PoolKey = std::tuple<std::string, const ClientTls*, bool>;

// Thread-safe.
class ClientCore : public std::enable_shared_from_this<ClientCore> {
 public:
  ClientCore(IoThreads& threads, const ClientOptions& options)
      : options_(options), threads_(threads) {}

  // Gives the call to an idle connection or makes one.
  void Dispatch(const std::shared_ptr<ClientCall>& call);
  const ClientOptions& options() const { return options_; }
  Resolver& resolver() { return resolver_; }

  // True if the connection has been taken into the pool; else it is to be closed.
  bool Release(const PoolKey& key, const std::shared_ptr<ClientConnection>& connection);
  void Forget(const PoolKey& key, const std::shared_ptr<ClientConnection>& connection);
  void CloseIdle();
  void CloseAll();
  ClientCounters counters() const;

 private:
  std::shared_ptr<ClientConnection> TakeIdle(const PoolKey& key);
  std::shared_ptr<const ClientTls> DefaultTls();

  const ClientOptions options_;
  IoThreads& threads_;
  Resolver resolver_;
  mutable base::Mutex mutex_;
  std::map<PoolKey, std::vector<std::shared_ptr<ClientConnection>>> idle_ PC_GUARDED_BY(mutex_);
  std::unordered_set<std::shared_ptr<ClientConnection>> all_ PC_GUARDED_BY(mutex_);
  std::shared_ptr<const ClientTls> default_tls_ PC_GUARDED_BY(mutex_);
  ClientCounters counters_ PC_GUARDED_BY(mutex_);
  bool closed_ PC_GUARDED_BY(mutex_) = false;
};

// Confined to its loop's thread, but for loop().
class ClientConnection final : public Sink,
                               public MessageSink,
                               public std::enable_shared_from_this<ClientConnection> {
 public:
  // `proxy`: what is connected to is that proxy, which is to lead on.
  ClientConnection(std::shared_ptr<ClientCore> core, std::shared_ptr<Loop> loop, PoolKey key,
                   std::shared_ptr<const ClientTls> tls, std::optional<Url> proxy);
  ~ClientConnection() override;

  Loop& loop() { return *loop_; }

  // Connects to `target` ("host:port") and carries `call`.
  void Connect(std::shared_ptr<ClientCall> call, const std::string& target);
  // Carries another call; gives it back to the core if the connection has died meanwhile.
  void Reuse(std::shared_ptr<ClientCall> call);
  void CancelCall(const ClientCall& call);
  void CloseIfIdle();
  void Abort();  // the client is being destroyed

  void OnReady(Readiness readiness) override;

 private:
  enum class State { kResolving, kConnecting, kProxying, kHandshaking, kBusy, kIdle, kClosed };

  void OnStatusLine(int status, std::string_view reason, int version) override;
  void OnField(std::string_view name, std::string_view value) override;
  bool OnHead() override;
  bool OnBody(std::string_view piece) override;

  void OnResolved(Resolution resolution);
  void TryNextAddress();
  void OnConnected();
  void AskProxy();
  void ContinueProxying();
  void OnProxyAnswer(std::string_view head);
  void StartHandshake();
  std::string DialError(std::string_view text) const;
  void ContinueHandshake();
  void SendRequest();
  void Flush();
  void ReadSome();
  void OnBytes(std::string_view bytes);
  void BeginParser();
  void OnEndOfStream(const std::string& error);
  void FinishAnswer();
  void BecomeIdle();
  void ArmTimer();
  void OnTimer();
  void OnIdleTimer();
  void Fail(CallPhase phase, std::string cause);
  void Close();
  bool HeadGoesOn(std::size_t added) const;
  std::string_view FieldsOf(std::string_view head) const;
  CallPhase ReadPhase() const;

  const std::shared_ptr<ClientCore> core_;
  const std::shared_ptr<Loop> loop_;
  const PoolKey key_;
  const std::shared_ptr<const ClientTls> tls_;
  const std::optional<Url> proxy_;

  State state_ = State::kResolving;
  std::shared_ptr<ClientCall> call_;
  std::unique_ptr<Stream> stream_;
  std::uint64_t token_ = 0;
  std::vector<SocketAddress> addresses_;
  std::size_t next_address_ = 0;
  std::string first_dial_error_;
  std::string address_;
  std::string proxy_answer_;
  base::SteadyTime stage_deadline_{};  // of dialling or of the handshake
  Loop::TimerKey timer_;
  Loop::TimerKey idle_timer_;
  base::SteadyTime idle_since_{};
  bool reused_ = false;

  // Of the current call.
  WriteQueue out_;
  std::size_t sent_before_ = 0;
  std::string write_error_;
  std::unique_ptr<Http1Parser> parser_;
  std::string pending_;
  std::string first_line_;  // what came first, for the text about malformed answers
  Response response_;
  bool any_byte_ = false;
  bool too_large_ = false;
};

}  // namespace portcullis::net::internal
