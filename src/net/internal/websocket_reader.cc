// SPDX-License-Identifier: Apache-2.0

#include "net/internal/websocket_reader.h"

#include <algorithm>

#include "net/websocket.h"

namespace portcullis::net::internal {
namespace {

constexpr std::uint8_t kClose = 8;
constexpr std::uint8_t kPing = 9;
constexpr std::uint8_t kPong = 10;
constexpr std::size_t kMaxEcho = 125;
constexpr std::uint64_t kMaxMessage = 32 << 20;

}  // namespace

bool WebSocketReader::Feed(std::string_view bytes, std::string& answer) {
  while (!bytes.empty()) {
    if (!in_payload_) {
      head_[head_size_++] = static_cast<std::uint8_t>(bytes.front());
      bytes.remove_prefix(1);
      if (head_size_ < HeadSize()) continue;
      if (!BeginPayload(answer)) return false;
    }
    TakePayload(bytes);
    if (left_ == 0) EndPayload(answer);
  }
  return true;
}

std::size_t WebSocketReader::HeadSize() const {
  if (head_size_ < 2) return 2;
  const int length = head_[1] & 0x7F;
  const std::size_t more = length == 126 ? 2 : length == 127 ? 8 : 0;
  return 2 + more + ((head_[1] & 0x80) != 0 ? 4 : 0);
}

bool WebSocketReader::BeginPayload(std::string& answer) {
  if ((head_[1] & 0x80) == 0) {  // a client has to mask
    AppendCloseFrame(kProtocolError, answer);
    return false;
  }
  if (opcode() == kClose) return false;
  left_ = head_[1] & 0x7FU;
  if (left_ > 125) {
    const std::size_t end = head_size_ - 4;
    left_ = end == 10 ? head_[2] & 0x7FU : head_[2];
    for (std::size_t i = 3; i < end; ++i) left_ = left_ << 8 | head_[i];
  }
  in_payload_ = true;
  return opcode() == kPing || opcode() == kPong || left_ <= kMaxMessage;
}

void WebSocketReader::TakePayload(std::string_view& bytes) {
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
  if (opcode() == kPing) {
    const std::uint8_t* const mask = &head_[head_size_ - 4];
    for (std::size_t i = 0; i < size && echo_.size() < kMaxEcho; ++i) {
      echo_ += static_cast<char>(static_cast<std::uint8_t>(bytes[i]) ^ mask[echo_.size() % 4]);
    }
  }
  bytes.remove_prefix(size);
  left_ -= size;
}

void WebSocketReader::EndPayload(std::string& answer) {
  if (opcode() == kPing) AppendFrame(FrameKind::kPong, echo_, answer);
  echo_.clear();
  head_size_ = 0;
  in_payload_ = false;
}

}  // namespace portcullis::net::internal
