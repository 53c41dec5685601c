// SPDX-License-Identifier: Apache-2.0

// HTTP/1.1 on a server connection (RFC 9112): one exchange at a time. While one is being answered
// nothing is read but a body that its handler has asked for, so that a client which sends more is
// slowed down by its own socket; and the next request is read only when the answer has left.
//
// http1_session.cc has what comes in, http1_answers.cc what goes out, http1_websocket.cc the connection
// once it is a WebSocket, http1_tunnel.cc once it is given away: then it reads while its one answer lasts.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "net/internal/http1_parser.h"
#include "net/internal/server_connection.h"
#include "net/internal/server_exchange.h"
#include "net/internal/websocket_reader.h"

namespace portcullis::net::internal {

// Confined to its connection's thread.
class Http1Session final : public Session, public MessageSink {
 public:
  explicit Http1Session(ServerConnection& connection)
      : connection_(connection), since_(connection.loop().now()) {}

  void OnBytes(std::string_view bytes) override;
  bool WantsBytes() const override {
    return state_ == State::kReading || reads_body_ || ReadsFrames() || ReadsTunnel();
  }
  void OnPeerClosing() override {
    // A client may have closed its half behind a body that has not been read yet.
    if (web_socket_) return OnWebSocketClosing();
    if (tunnel_) return;  // the end comes behind what has not been read yet
    const auto exchange = current_.lock();
    if (exchange && exchange->body_complete()) exchange->PeerGone();
  }
  void OnEof() override;
  void OnGone() override;
  void OnWritten() override;
  void OnTick(base::SteadyTime now) override;
  void HandOverHeads() override;
  void Drain() override;

  void ReadBody(ServerExchange& exchange) override;
  void Respond(ServerExchange& exchange, Response response) override;
  void Start(ServerExchange& exchange, ResponseHead head) override;
  void Write(ServerExchange& exchange, std::shared_ptr<const std::string> shared,
             std::string chunk) override;
  void Finish(ServerExchange& exchange) override;
  void StartWebSocket(ServerExchange& exchange, const WebSocketAnswer& handshake) override;
  void StartTunnel(ServerExchange& exchange,
                   std::function<void(std::string_view)> on_bytes) override;
  void ReadMore(ServerExchange& exchange) override;
  bool may_stall() const override { return tunnel_ != nullptr && state_ == State::kStreaming; }
  void Abandon(int stream) override;

 private:
  enum class State {
    kReading,    // waiting for, or in the middle of, a request
    kHandling,   // handed over, no answer yet
    kStreaming,  // answer started
    kFlushing,   // answer complete, but the socket has not taken all of it
    kClosing,
  };

  // MessageSink
  void OnRequestLine(std::string_view method, std::string_view target, int version) override;
  void OnField(std::string_view name, std::string_view value) override;
  bool OnHead() override;
  bool OnBody(std::string_view piece) override;

  std::string_view Process(std::string_view bytes);
  void BeginMessage();
  void Deliver();
  void AwaitBody();
  void BodyDone();
  void DropRestOfBody();
  bool MayDropBody() const;
  void Continue();  // 100 Continue, if the client waits for it
  void Refuse(int status, std::string_view detail);
  bool IsCurrent(const ServerExchange& exchange) const {
    return exchange.stream() == exchange_number_ &&
           (state_ == State::kHandling || state_ == State::kStreaming);
  }
  std::string& BuildHead(int status, const Headers& headers, std::size_t content_length);
  void EndHead(std::string& head);
  void EndAnswer(ServerExchange& exchange);
  void FinishMessage();
  bool ReadsFrames() const;
  void ReadFrames(std::string_view bytes);
  void OnWebSocketClosing();
  void EndWebSocket(std::string answer);
  bool ReadsTunnel() const { return tunnel_reads_ && state_ == State::kStreaming; }
  void TakeFromTunnel(std::string_view bytes);
  bool idle() const {
    return state_ == State::kReading && (!parser_ || drops_body_) && pending_.empty();
  }

  ServerConnection& connection_;
  State state_ = State::kReading;
  std::unique_ptr<Http1Parser> parser_;  // only while a message is being read
  std::string pending_;                  // read, but not consumed by the parser
  base::SteadyTime since_;               // start of: connection, idling, head, body
  bool first_message_ = true;

  // Of the current message.
  Request request_;
  int version_ = 11;
  int hosts_ = 0;
  bool lengths_plain_ = true;      // all Content-Length fields are numbers
  bool ignores_encoding_ = false;  // chunked in HTTP/1.0
  int refuse_status_ = 0;
  std::string refuse_detail_;
  std::size_t body_limit_ = 0;
  std::string body_;
  std::size_t body_read_ = 0;
  bool body_too_large_ = false;
  bool expects_continue_ = false;
  bool awaits_body_ = false;  // which is to come along with the head
  bool reads_body_ = false;   // which the handler has asked for
  bool drops_body_ = false;   // which the handler left unread
  bool is_head_ = false;
  bool keep_alive_ = true;
  bool chunked_answer_ = false;
  std::weak_ptr<ServerExchange> current_;
  std::shared_ptr<ServerExchange> flushing_;  // in kFlushing: this may be its last reference
  int exchange_number_ = 0;
  std::size_t unsent_ = 0;  // payload of the current answer that was put into the queue
  bool draining_ = false;
  std::unique_ptr<WebSocketReader> web_socket_;  // null: HTTP is spoken
  std::function<void(std::string_view)>
      tunnel_;  // the same; as long as the session, for it may be on the stack
  bool tunnel_reads_ = false;
};

}  // namespace portcullis::net::internal
