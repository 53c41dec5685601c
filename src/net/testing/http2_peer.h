// SPDX-License-Identifier: Apache-2.0

// The frames of an HTTP/2 server, one by one, for tests of clients: what a real server would not say can
// be said, too. Heads are written without compression; those of the client are not decoded.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "net/testing/raw_peer.h"

namespace portcullis::net::testing {

namespace h2 {
// RFC 9113 §6
inline constexpr int kData = 0;
inline constexpr int kHeaders = 1;
inline constexpr int kRstStream = 3;
inline constexpr int kSettings = 4;
inline constexpr int kPing = 6;
inline constexpr int kGoaway = 7;
inline constexpr int kWindowUpdate = 8;
inline constexpr int kEndStream = 1;
inline constexpr int kAck = 1;
inline constexpr int kEndHeaders = 4;

inline std::string Number(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

inline std::string Frame(int type, int flags, std::uint32_t stream, std::string_view payload = "") {
  std::string frame = Number(static_cast<std::uint32_t>(payload.size())).substr(1);
  frame += static_cast<char>(type);
  frame += static_cast<char>(flags);
  return frame + Number(stream) + std::string(payload);
}

using Fields = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// HPACK: literals that are not indexed, of less than 127 bytes.
inline std::string Block(Fields fields) {
  std::string block;
  for (const auto& [name, value] : fields) {
    block += '\0';
    block += static_cast<char>(name.size());
    block += name;
    block += static_cast<char>(value.size());
    block += value;
  }
  return block;
}

inline std::string Head(std::uint32_t stream, Fields fields, bool ends = false) {
  return Frame(kHeaders, kEndHeaders | (ends ? kEndStream : 0), stream, Block(fields));
}
inline std::string Data(std::uint32_t stream, std::string_view bytes, bool ends = false) {
  return Frame(kData, ends ? kEndStream : 0, stream, bytes);
}
inline std::string Reset(std::uint32_t stream, std::uint32_t code) {
  return Frame(kRstStream, 0, stream, Number(code));
}
inline std::string Goaway(std::uint32_t last_stream, std::uint32_t code,
                          std::string_view debug_data = "") {
  return Frame(kGoaway, 0, 0, Number(last_stream) + Number(code) + std::string(debug_data));
}
inline std::string Settings() { return Frame(kSettings, 0, 0); }
}  // namespace h2

// What a client sends, frame by frame.
class Http2Peer {
 public:
  struct Frame {
    int type = -1;  // -1: the connection has ended
    int flags = 0;
    std::uint32_t stream = 0;
    std::string payload;
  };

  explicit Http2Peer(RawPeer& peer) : peer_(peer) {}

  bool SkipPreface() {
    constexpr std::size_t kPreface = 24;
    if (!Fill(kPreface)) return false;
    bytes_.erase(0, kPreface);
    return true;
  }
  // Reads the preface and says the server's SETTINGS.
  bool Greet() { return SkipPreface() && peer_.Send(h2::Settings()); }
  Frame Next() {
    if (!Fill(9)) return {};
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes_[i]); };
    const std::size_t size = static_cast<std::size_t>(byte(0) << 16 | byte(1) << 8 | byte(2));
    if (!Fill(9 + size)) return {};
    Frame frame;
    frame.type = byte(3);
    frame.flags = byte(4);
    for (std::size_t i = 5; i < 9; ++i) frame.stream = frame.stream << 8 | byte(i);
    frame.payload = bytes_.substr(9, size);
    bytes_.erase(0, 9 + size);
    return frame;
  }
  // The next frame of that type; others are passed over.
  Frame NextOf(int type) {
    Frame frame = Next();
    while (frame.type != -1 && frame.type != type) frame = Next();
    return frame;
  }
  // Reads until a request is complete; its stream, 0 at the end of the connection.
  std::uint32_t NextRequest() {
    Frame frame = Next();
    while (frame.type != -1) {
      const bool ends = (frame.flags & h2::kEndStream) != 0;
      if ((frame.type == h2::kHeaders || frame.type == h2::kData) && ends) return frame.stream;
      frame = Next();
    }
    return 0;
  }
  void ReadToEnd() {
    while (Next().type != -1) {
    }
  }
  bool Send(std::string_view bytes) { return peer_.Send(bytes); }

 private:
  bool Fill(std::size_t size) {
    while (bytes_.size() < size) {
      const std::string more = peer_.Read();
      if (more.empty()) return false;
      bytes_ += more;
    }
    return true;
  }

  RawPeer& peer_;
  std::string bytes_;
};

}  // namespace portcullis::net::testing
