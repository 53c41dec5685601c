// SPDX-License-Identifier: Apache-2.0

// ServerConnection is one accepted socket: TLS handshake, reading, writing, deadlines. What the
// bytes mean is the business of its Session (HTTP/1.1 or HTTP/2).
//
// Confined to its loop's thread, but for the constants that exchanges read. Owned by its shard
// until closed, and by the exchanges that came over it.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/allocation_failure.h"
#include "net/internal/loop.h"
#include "net/internal/server_core.h"
#include "net/internal/stream.h"
#include "net/internal/write_queue.h"
#include "net/server.h"

namespace portcullis::net::internal {

class ServerExchange;
class ServerConnection;

// A protocol on a connection. Methods are called on the loop's thread only.
class Session {
 public:
  virtual ~Session() = default;

  // Takes all of `bytes`.
  virtual void OnBytes(std::string_view bytes) = 0;
  virtual bool WantsBytes() const = 0;
  // The peer has announced that it will send no more; running exchanges are told.
  virtual void OnPeerClosing() = 0;
  virtual void OnEof() = 0;
  // The connection is closed; nothing can be sent.
  virtual void OnGone() = 0;
  // The socket has taken bytes.
  virtual void OnWritten() = 0;
  virtual void OnTick(base::SteadyTime now) = 0;
  // The moment for small bodies to come along with their heads is over: see ServerShard::AwaitBody.
  virtual void HandOverHeads() = 0;
  // The server is shutting down: finish what runs, accept nothing new.
  virtual void Drain() = 0;

  // From exchanges. The rest of a body is wanted, for which `exchange` holds a reservation.
  virtual void ReadBody(ServerExchange& exchange) = 0;
  virtual void Respond(ServerExchange& exchange, Response response) = 0;
  virtual void Start(ServerExchange& exchange, ResponseHead head) = 0;
  virtual void Write(ServerExchange& exchange, std::shared_ptr<const std::string> shared,
                     std::string chunk) = 0;
  virtual void Finish(ServerExchange& exchange) = 0;
  // REQUIRES: HTTP/1, whose handshakes alone ask for it.
  virtual void StartWebSocket(ServerExchange& exchange, const WebSocketAnswer& handshake) = 0;
  // REQUIRES: HTTP/1. See net/tunnel.h.
  virtual void StartTunnel(ServerExchange&, std::function<void(std::string_view)>) {}
  virtual void ReadMore(ServerExchange&) {}
  // Whether a client may leave an answer in its socket for as long as it likes.
  virtual bool may_stall() const { return false; }
  // Cut off: by Exchange::Abort or because the exchange was dropped without an answer.
  virtual void Abandon(int stream) = 0;
};

std::unique_ptr<Session> MakeHttp1Session(ServerConnection& connection);
std::unique_ptr<Session> MakeHttp2Session(ServerConnection& connection);  // null: no memory

class ServerConnection final : public Sink, public std::enable_shared_from_this<ServerConnection> {
 public:
  ServerConnection(std::shared_ptr<ServerShard> shard, int fd,
                   std::shared_ptr<const ServerTls> tls);
  ~ServerConnection() override;

  // Takes its place among the connections of strangers; false: there are too many.
  bool Enter();
  void MarkKnown();  // any thread
  void Begin();
  void OnReady(Readiness readiness) override;

  // Constant after the handshake: any thread.
  const std::string& remote_address() const { return remote_address_; }
  bool secure() const { return tls_ != nullptr; }
  const std::shared_ptr<Loop>& shared_loop() const { return loop_; }
  ServerCore& core() const { return shard_->core(); }

  // What the client has presented, judged as of now: verified again only if the client CA has been
  // replaced or a certificate has become valid or expired since. Null if nothing.
  const std::shared_ptr<const ClientCertificate>& JudgeCertificate();

  Loop& loop() const { return *loop_; }
  ServerShard& shard() const { return *shard_; }
  Session* session() const { return session_.get(); }  // null before the handshake and after close
  bool closed() const { return closed_; }

  // Sends `head` and `body` as far as the socket takes them and queues the rest.
  void Send(std::string_view head, std::string_view body = {});
  WriteQueue& out() { return out_; }
  void Flush();
  // Asks for a read soon: a session that had paused wants bytes again.
  void ResumeReading();
  // It serves no requests any more: the end of the server does not wait for it (net/tunnel.h).
  void GiveAway();
  // Closes once everything queued is sent. With unread input it lingers, so that the peer can read
  // the answer before it learns of the end (a reset would destroy it).
  void CloseWhenFlushed(bool unread_input);
  void Close();
  // Does something for this connection, which ends if an allocation fails in it.
  template <typename Work>
  void Guard(Work&& work) {
    if (base::UnlessMemoryRunsOut(work)) return;
    Doom();
    base::UnlessMemoryRunsOut([this] { Close(); });
  }
  // Any thread: the connection is closed by its next tick, at the latest.
  void Doom() { doomed_ = true; }

  void Tick(base::SteadyTime now);
  void Drain();

 private:
  void React(Readiness readiness);
  void ContinueHandshake();
  void AnswerPlainHttp();
  void StartSession();
  void VerifyCertificate();
  void Pump();
  void ReadSome();
  void Discard();
  void FinishClosing();

  const std::shared_ptr<ServerShard> shard_;
  const std::shared_ptr<Loop> loop_;
  const std::shared_ptr<const ServerTls> tls_;  // keeps the contexts of our SSL alive
  std::string remote_address_;
  std::atomic<bool> stranger_{false};
  std::shared_ptr<const ClientCertificate> peer_;
  std::uint64_t peer_judged_by_ = 0;  // ServerCore::tls_generation

  Stream stream_;
  std::optional<std::uint64_t> token_;  // none: the loop does not know the socket yet
  std::atomic<bool> doomed_{false};
  std::unique_ptr<Session> session_;
  WriteQueue out_;
  base::SteadyTime connected_at_;
  base::SteadyTime write_progress_at_;  // of the last byte taken, or of the first that waits
  base::SteadyTime linger_until_{};
  bool closed_ = false;
  bool pumping_ = false;
  bool flushing_ = false;
  bool resume_scheduled_ = false;
  bool close_when_flushed_ = false;
  bool unread_input_ = false;
  bool given_away_ = false;
  bool lingering_ = false;
};

}  // namespace portcullis::net::internal
