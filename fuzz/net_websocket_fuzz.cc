// SPDX-License-Identifier: Apache-2.0

// The frames of a WebSocket's client: however they are cut into pieces, they are answered alike. The first
// byte says how large the pieces are.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "net/internal/websocket_reader.h"
#include "net/websocket.h"

namespace {

struct Outcome {
  bool open = true;
  std::string answer;
  bool operator==(const Outcome&) const = default;
};

Outcome Read(std::string_view bytes, std::size_t step) {
  portcullis::net::internal::WebSocketReader reader;
  Outcome outcome;
  while (!bytes.empty() && outcome.open) {
    outcome.open = reader.Feed(bytes.substr(0, step), outcome.answer);
    bytes.remove_prefix(step < bytes.size() ? step : bytes.size());
  }
  return outcome;
}

// What the fields of a handshake are answered with is one head, and no more than that if accepted.
void Shake(std::string_view value) {
  portcullis::net::Request request;
  request.method = "GET";
  request.target = "/";
  request.authority = "a";
  request.headers = {{"Connection", "Upgrade"},
                     {"Sec-WebSocket-Key", std::string(value)},
                     {"Sec-WebSocket-Version", "13"},
                     {"Origin", std::string(value)}};
  const auto answer = portcullis::net::AnswerHandshake(request, true, "");
  if (answer.accepted != answer.bytes.starts_with("HTTP/1.1 101 ")) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Outcome whole = Read(bytes, bytes.size());
  if (!(whole == Read(bytes, 1)) || !(whole == Read(bytes, data[0] + 1U))) std::abort();
  // A pong is no longer than what asked for it.
  if (whole.answer.size() > bytes.size() + 4) std::abort();
  Shake(bytes);
  return 0;
}
