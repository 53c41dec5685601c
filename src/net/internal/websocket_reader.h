// SPDX-License-Identifier: Apache-2.0

// WebSocketReader reads the frames of a client whose messages have no meaning here: it answers pings and
// finds the end. What it takes for an error is what golang.org/x/net/websocket does: neither reserved bits nor
// opcodes nor the order of fragments are looked at.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace portcullis::net::internal {

// Confined to its connection's thread. Keeps no more than a head and what a pong repeats.
class WebSocketReader {
 public:
  // Takes all of `bytes`, which may be cut anywhere, and appends what they are answered with. False:
  // the client closes, or has sent what it must not; nothing is read any more.
  bool Feed(std::string_view bytes, std::string& answer);

 private:
  std::size_t HeadSize() const;
  bool BeginPayload(std::string& answer);
  void TakePayload(std::string_view& bytes);
  void EndPayload(std::string& answer);
  std::uint8_t opcode() const { return head_[0] & 0x0F; }

  std::array<std::uint8_t, 14> head_{};
  std::size_t head_size_ = 0;
  bool in_payload_ = false;
  std::uint64_t left_ = 0;  // of the payload
  std::string echo_;        // the beginning of a ping's, unmasked
};

}  // namespace portcullis::net::internal
