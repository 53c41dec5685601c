// SPDX-License-Identifier: Apache-2.0

// ClientConnection is one connection of an HttpsClient. It carries one call at a time.
//
// It is made on an I/O loop's thread and stays with it for its first call; if the server has chosen HTTP/2,
// what has been made is handed over to an Http2Carrier then. Idle, it belongs to the
// pool; then to who has taken it out: the loop's thread again or a thread that waits for its call.
// The loop hears of the server hanging up all along.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/client.h"
#include "net/internal/client_call.h"
#include "net/internal/client_core.h"
#include "net/internal/dialer.h"
#include "net/internal/loop.h"
#include "net/internal/proxy_dialog.h"
#include "net/internal/round_trip.h"
#include "net/internal/stream.h"
#include "net/url.h"

namespace portcullis::net::internal {

class ClientConnection final : public Sink,
                               public CallCarrier,
                               public std::enable_shared_from_this<ClientConnection> {
 public:
  // `proxy`: what is connected to is that proxy, which is to lead on.
  ClientConnection(std::shared_ptr<ClientCore> core, std::shared_ptr<Loop> loop, PoolKey key,
                   std::shared_ptr<const ClientTls> tls, std::optional<Url> proxy);
  ~ClientConnection() override;

  // --- any thread
  Loop& loop() override { return *loop_; }
  const PoolKey& key() const { return key_; }
  // The loop has heard it; the core looks, under its mutex.
  std::atomic<bool> hung_up{false};

  // --- the loop's thread
  // Connects to `target` ("host:port") and carries `call`.
  void Connect(std::shared_ptr<ClientCall> call, const std::string& target);
  void CancelCall(const ClientCall& call) override;
  void ResumeCall(const ClientCall& call) override;
  void SendMore(const ClientCall& call, std::string bytes, std::function<void()> taken) override;
  void Abort();  // the client stops
  void OnReady(Readiness readiness) override;

  // --- who has taken it from the pool
  // Whether nothing has come since the last answer: an end or unasked-for data make it useless.
  bool IsSound() const;
  // Carries another call, driven by `driver` or, if that is null, by the loop (and its thread).
  // True if the driver is to go on with Advance; false if the connection is no longer its own.
  bool Carry(std::shared_ptr<ClientCall> call, Gathering* driver);
  // The same by the loop, from a task of it: a failed allocation fails the call.
  void CarryOnLoop(std::shared_ptr<ClientCall> call);
  void Close();

  // --- the Gathering that drives it
  int fd() const { return stream_->fd(); }
  bool is_sending() const { return trip_->is_sending(); }
  base::SteadyTime deadline() const { return call_->deadline; }
  // The socket can be read, or else written. Returns as Carry.
  bool Advance(bool readable);
  void Expire();  // the deadline has passed

 private:
  enum class State {
    kDialling,
    kProxyHandshaking,  // with a proxy that is reached by TLS
    kProxying,          // it is asked to lead on
    kHandshaking,
    kBusy,
    kIdle,
    kClosed,
  };

  // An allocation that fails in `work` fails the call.
  template <typename Work>
  void Guard(Work&& work);
  void Dial(const std::string& target);
  void React(Readiness readiness);
  void OnDialled(Dialer::Outcome& outcome);
  void AskProxy();
  void ContinueProxying();
  bool SendToProxy();
  std::string DialError(std::string_view text) const;
  void StartHandshake(State state, const std::string& host);
  void ContinueHandshake();
  void BeginFirstCall();
  void HandOver();
  void StartCall();
  bool Proceed();
  bool CarriesOnLoop(const ClientCall& call) const {
    return on_loop_ && state_ == State::kBusy && call_.get() == &call;
  }
  void FinishAnswer();
  void LimitRefusal();
  void BecomeIdle();
  base::SteadyTime due() const;  // when what it is at has taken too long
  void ArmTimer();
  void OnTimer();
  void OnIdleTimer();
  void Fail(CallPhase phase, std::string cause);
  CallPhase phase() const;
  void LeaveLoop();

  const std::shared_ptr<ClientCore> core_;
  const std::shared_ptr<Loop> loop_;
  const PoolKey key_;
  const std::shared_ptr<const ClientTls> tls_;
  const std::optional<Url> proxy_;

  // Of the loop's thread.
  bool on_loop_ = true;  // it is the driver
  Loop::TimerKey timer_;
  Loop::TimerKey idle_timer_;

  // While it is made.
  std::shared_ptr<Dialer> dialer_;
  std::unique_ptr<ProxyDialog> dialog_;
  base::SteadyTime stage_deadline_{};  // of dialling or of the handshake

  // Of whose it is.
  State state_ = State::kDialling;
  Gathering* driver_ = nullptr;  // null: the loop
  std::shared_ptr<ClientCall> call_;
  std::unique_ptr<Stream> stream_;
  std::uint64_t token_ = 0;
  bool only_hangups_ = false;  // all that the loop reports
  std::string address_;
  std::optional<RoundTrip> trip_;
  bool reused_ = false;
  bool refused_ = false;
};

}  // namespace portcullis::net::internal
