// SPDX-License-Identifier: Apache-2.0

// What etcd answers: a stream of gRPC's messages in pieces, and the messages. The first byte says which
// message is expected, the second how large the pieces are; that must not matter.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "etcd/internal/grpc.h"
#include "etcd/internal/messages.h"

namespace etcd = portcullis::etcd::internal;

namespace {

struct Read {
  std::vector<std::string> messages;
  std::string error;
  bool at_boundary = false;
  bool operator==(const Read&) const = default;
};

Read ReadInPieces(std::string_view bytes, std::size_t piece) {
  constexpr std::size_t kLimit = 4096;
  etcd::MessageReader reader(kLimit);
  Read read;
  for (std::size_t at = 0; at < bytes.size() && read.error.empty(); at += piece) {
    read.error = reader
                     .Feed(bytes.substr(at, piece),
                           [&](std::string_view message) {
                             if (message.size() > kLimit) std::abort();
                             read.messages.emplace_back(message);
                             return true;
                           })
                     .message();
  }
  read.at_boundary = read.error.empty() && reader.at_boundary();
  return read;
}

void Decode(std::uint8_t which, std::string_view message) {
  switch (which % 7) {
    case 0:
      (void)etcd::DecodeRange(message).ok();
      break;
    case 1:
      (void)etcd::DecodeTxn(message).ok();
      break;
    case 2:
      (void)etcd::DecodeWatch(message).ok();
      break;
    case 3:
      (void)etcd::DecodeLeaseGrant(message).ok();
      break;
    case 4:
      (void)etcd::DecodeStatus(message).ok();
      break;
    case 5:
      (void)etcd::DecodeMemberList(message).ok();
      break;
    default:
      (void)etcd::DecodeHeaderOnly(message).ok();
      (void)etcd::DecodeMessage(message);
      (void)etcd::CodeFromNumber(message);
      (void)etcd::ErrorOfHttpStatus(message).ok();
      break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Read whole = ReadInPieces(bytes, std::max<std::size_t>(bytes.size(), 1));
  const Read pieces = ReadInPieces(bytes, std::max<std::size_t>(data[1], 1));
  if (!(whole == pieces)) std::abort();
  for (const std::string& message : whole.messages) Decode(data[0], message);
  return 0;
}
