// SPDX-License-Identifier: Apache-2.0

#include "net/websocket.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "golang/url.h"

namespace portcullis::net {
namespace {

constexpr std::string_view kKeySuffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

bool NamesUpgrade(std::string_view connection) {
  return base::ToLower(connection).find("upgrade") != std::string::npos;
}

WebSocketAnswer Refuse(int status, std::string_view text, std::string_view header = {}) {
  return {false, base::StrCat("HTTP/1.1 ", std::to_string(status), " ", StatusText(status), "\r\n",
                              header, "\r\n", text)};
}

std::string AcceptOf(std::string_view key) {
  const std::string text = base::StrCat(key, kKeySuffix);
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return base::Base64Encode({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

}  // namespace

bool AsksForWebSocket(const Headers& headers) {
  if (!base::EqualsIgnoreCase(headers.Get("Upgrade"), "websocket")) return false;
  const auto connections = headers.All("Connection");
  return std::any_of(connections.begin(), connections.end(), NamesUpgrade);
}

WebSocketAnswer AnswerHandshake(const Request& request, bool secure, std::string_view protocols) {
  const Headers& headers = request.headers;
  if (request.method != "GET") return Refuse(405, "bad method");
  // Of several fields only the first one counts, unlike in AsksForWebSocket().
  if (!NamesUpgrade(headers.Get("Connection"))) return Refuse(400, "not websocket protocol");
  const std::string_view key = headers.Get("Sec-WebSocket-Key");
  if (key.empty()) return Refuse(400, "mismatch challenge/response");
  if (headers.Get("Sec-WebSocket-Version") != "13") {
    return Refuse(400, "missing or bad WebSocket Version", "Sec-WebSocket-Version: 13\r\n");
  }
  const auto location = golang::ParseRequestUri(
      base::StrCat(secure ? "wss://" : "ws://", request.authority, request.target));
  if (!location.ok()) return Refuse(400, location.status().message());
  const std::string_view origin = headers.Get("Origin");
  if (origin.empty() || !golang::ParseRequestUri(origin).ok()) return Refuse(403, "");
  const std::string_view protocol = base::Trim(protocols);
  if (protocol.find(',') != protocol.npos) return Refuse(400, "");
  std::string answer = base::StrCat(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
      "Sec-WebSocket-Accept: ",
      AcceptOf(key), "\r\n");
  if (!protocol.empty()) answer += base::StrCat("Sec-WebSocket-Protocol: ", protocol, "\r\n");
  return {true, answer + "\r\n"};
}

void AppendFrame(FrameKind kind, std::string_view payload, std::string& out) {
  constexpr char kFinal = '\x80';
  const std::size_t size = payload.size();
  const int length_bytes = size <= 125 ? 0 : size <= 0xFFFF ? 2 : 8;
  out += static_cast<char>(kFinal | static_cast<char>(kind));
  out += static_cast<char>(length_bytes == 0 ? size : length_bytes == 2 ? 126 : 127);
  for (int i = length_bytes - 1; i >= 0; --i) out += static_cast<char>(size >> (8 * i));
  out += payload;
}

void AppendCloseFrame(int status, std::string& out) {
  const char code[] = {static_cast<char>(status >> 8), static_cast<char>(status)};
  AppendFrame(FrameKind::kClose, {code, sizeof(code)}, out);
}

}  // namespace portcullis::net
