// SPDX-License-Identifier: Apache-2.0

// Http2Carrier is one HTTP/2 connection of an HttpsClient. It carries many calls at once, and each loop has its
// own to a server: what the calls of one turn send leaves in one write, and none of them waits for another thread.
//
// Texts of failures are those of Go's HTTP/2 transport, as is what is sent again: what the server has not looked
// at, six times more, with growing pauses.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "net/http2_client.h"
#include "net/internal/client_call.h"
#include "net/internal/client_core.h"
#include "net/internal/http2_client_connection.h"
#include "net/internal/loop.h"
#include "net/internal/stream.h"

namespace portcullis::net::internal {

// Confined to its loop's thread but where said otherwise.
class Http2Carrier final : public CallCarrier,
                           public Http2Listener,
                           public std::enable_shared_from_this<Http2Carrier> {
 public:
  Http2Carrier(std::shared_ptr<ClientCore> core, Http2Handover made);
  ~Http2Carrier() override;
  void Begin();

  // --- any thread
  Loop& loop() override { return *loop_; }
  const PoolKey& key() const { return key_; }
  // Whether it is worth trying; Carry copes if it is not.
  bool takes_calls() const { return takes_calls_; }

  void Carry(std::shared_ptr<ClientCall> call);
  void CancelCall(const ClientCall& call) override;
  void ResumeCall(const ClientCall& call) override;
  void SendMore(const ClientCall&, std::string, std::function<void()>) override {}  // HTTP/1 alone
  void CloseIfIdle();
  void Abort();  // the client stops

  void OnConnected() override {}
  void OnDraining(const Http2Goaway& goaway) override;
  void OnClosed(const std::string& cause) override;

 private:
  class Exchange;
  struct Goaway {
    std::uint32_t code = 0;
    std::int32_t last_stream = 0;
    std::string debug_data;
  };

  std::int32_t Start(const ClientCall& call, Exchange& exchange);
  // Takes the exchange, which has ended, out of those under way.
  std::unique_ptr<Exchange> Release(const Exchange& exchange);
  void Finish(Exchange& exchange, const Http2End& end);
  void Again(const std::shared_ptr<ClientCall>& call);
  // Ends a call that is under way.
  void GiveUp(Exchange& exchange, CallPhase phase, std::string cause);
  void GiveUpAll(std::string_view cause);
  std::string TextOf(const Exchange& exchange, const Http2End& end) const;
  std::string ResetText(const Exchange& exchange, const Http2End& end) const;
  void Close();
  void LookAtRoom();
  base::SteadyTime due() const;
  void ArmTimer();
  void OnTimer();

  const std::shared_ptr<ClientCore> core_;
  const std::shared_ptr<Loop> loop_;
  const PoolKey key_;
  const std::shared_ptr<const ClientTls> tls_;  // see Http2Handover
  const std::string address_;
  std::unique_ptr<Stream> stream_;  // until Begin
  const bool without_san_;
  const bool with_sha1_;
  std::atomic<bool> takes_calls_{true};

  std::shared_ptr<Http2ClientConnection> connection_;
  std::unordered_map<const ClientCall*, std::unique_ptr<Exchange>> exchanges_;
  std::vector<Http2Field> fields_;  // of the request that is being sent
  std::optional<Goaway> goaway_;
  bool reused_ = false;
  base::SteadyTime idle_since_{};
  Loop::TimerKey timer_;
};

}  // namespace portcullis::net::internal
