// SPDX-License-Identifier: Apache-2.0

// WebSockets (RFC 6455) as Go's golang.org/x/net/websocket serves them, on whose server kube-apiserver's
// watches run: the handshake, whose refusals have neither a date nor a length, and frames.
//
// Pure functions. What a client sends afterwards is read by internal/websocket_reader.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "net/http.h"

namespace portcullis::net {

// Whether a request of HTTP/1 wants to go on as a WebSocket (Kubernetes: IsWebSocketRequest).
bool AsksForWebSocket(const Headers& headers);

// What a handshake is answered with, byte by byte; if not accepted, the connection ends behind it.
struct WebSocketAnswer {
  bool accepted = false;
  std::string bytes;
};

// `secure`: it came over TLS. `protocols` is what counts of its Sec-WebSocket-Protocol; a server
// that has no protocols of its own takes whichever one is named, and refuses several.
WebSocketAnswer AnswerHandshake(const Request& request, bool secure, std::string_view protocols);

enum class FrameKind : std::uint8_t { kText = 1, kBinary = 2, kClose = 8, kPong = 10 };

// Appends a message as the one frame that servers send it in.
void AppendFrame(FrameKind kind, std::string_view payload, std::string& out);

// Appends the frame that ends a WebSocket (RFC 6455 §7.4.1).
constexpr int kNormalClosure = 1000;
constexpr int kProtocolError = 1002;
void AppendCloseFrame(int status, std::string& out);

}  // namespace portcullis::net
