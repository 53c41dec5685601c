// SPDX-License-Identifier: Apache-2.0

// What gRPC puts around messages (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md), and
// its errors as Status. Pure but for MessageReader, which is confined to its stream.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/status.h"
#include "etcd/client.h"

namespace portcullis::etcd::internal {

// Each message is preceded by a byte that says whether it is compressed, and its length in four.
inline constexpr std::size_t kFrameHead = 5;

base::Status Error(Code code, std::string message);
// The same for a request that may have been applied: IsUnknownOutcome.
base::Status UnknownOutcome(const base::Status& error);

// A message that is none: "grpc: failed to unmarshal the received message: proto: …".
base::Status NotUnderstood(const base::Status& why);

// A number of grpc-status; kUnknown for what is none.
Code CodeFromNumber(std::string_view text);
// Undoes the percent-encoding of grpc-message.
std::string DecodeMessage(std::string_view text);
// What an answer without gRPC's trailers means.
base::Status ErrorOfHttpStatus(std::string_view status);
// grpc-timeout: at most eight digits and a unit, rounded up: "1500m".
std::string TimeoutText(base::Duration left);

// The fields around the messages of an answer: those before them and the trailers.
struct AnswerHead {
  std::string http_status;
  std::string message;       // grpc-message
  std::optional<Code> code;  // grpc-status; comes last
  bool is_grpc = false;      // by its content type

  void OnField(std::string_view name, std::string_view value);
};

// Puts the messages of a stream together.
class MessageReader {
 public:
  explicit MessageReader(std::size_t limit) : limit_(limit) {}

  // Calls `on_message` (std::string_view, valid during the call; returns false to stop reading) for
  // each message that is complete with this piece.
  template <typename OnMessage>
  base::Status Feed(std::string_view piece, OnMessage&& on_message) {
    while (!piece.empty()) {
      std::string_view message;
      if (!TRY(Take(piece, message))) return base::OkStatus();
      if (!on_message(message)) return base::OkStatus();
      Reset();
    }
    return base::OkStatus();
  }
  // Begins with another message. The room of a large one is given back.
  void Reset() {
    constexpr std::size_t kKept = 1 << 20;
    buffer_.clear();
    if (buffer_.capacity() > kKept) std::string().swap(buffer_);
  }
  // Nothing of a message has come that is not complete.
  bool at_boundary() const { return buffer_.empty(); }

 private:
  // Moves from `piece` what belongs to the next message. True: that is complete.
  base::Result<bool> Take(std::string_view& piece, std::string_view& message);
  base::Result<std::size_t> SizeOf(std::string_view head) const;

  const std::size_t limit_;
  std::string buffer_;  // the beginning of a message, with its head
};

}  // namespace portcullis::etcd::internal
