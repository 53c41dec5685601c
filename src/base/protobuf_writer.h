// SPDX-License-Identifier: Apache-2.0

// Writes messages of protobuf from their end to their start, as Go's generated encoders do: the length
// of a message, which precedes it, is known by then.
//
//   ReverseBytes out(64);
//   const std::size_t end = out.size();
//   out.Text(2, "value");   // the fields of the inner message, the last one first
//   out.Text(1, "key");
//   out.Close(3, end);      // the inner message is field 3 of the outer one
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "base/protobuf_wire.h"

namespace portcullis::base::protobuf {

// Bytes that grow at their start.
class ReverseBytes {
 public:
  // Begins with room for so many.
  explicit ReverseBytes(std::size_t room)
      : room_(room), bytes_(std::make_unique_for_overwrite<char[]>(room)), start_(&bytes_[room]) {}

  std::size_t size() const { return static_cast<std::size_t>(&bytes_[room_] - start_); }
  std::string_view view() const { return {start_, size()}; }

  void Bytes(std::string_view bytes) {
    if (!bytes.empty()) std::memcpy(Grow(bytes.size()), bytes.data(), bytes.size());
  }
  void Varint(std::uint64_t value) {
    if (value < 0x80) {
      *Grow(1) = static_cast<char>(value);
    } else {
      LongVarint(value);
    }
  }
  void Fixed64(double value) { std::memcpy(Grow(sizeof(value)), &value, sizeof(value)); }
  void Tag(std::uint32_t number, std::uint32_t wire_type) {
    const std::uint32_t tag = number << 3 | wire_type;
    if (tag < 0x80 || tag >= 0x4000) return Varint(tag);
    char* const out = Grow(2);
    out[0] = static_cast<char>(tag | 0x80U);
    out[1] = static_cast<char>(tag >> 7);
  }
  // The length and tag of a field whose bytes have been written since there were `end` bytes.
  void Close(std::uint32_t number, std::size_t end) {
    Varint(size() - end);
    Tag(number, kBytes);
  }
  // Whole fields. Nearly all have tags and lengths of a byte.
  void Text(std::uint32_t number, std::string_view text) {
    if (number < 16 && text.size() < 0x80) {
      char* const out = Grow(text.size() + 2);
      out[0] = static_cast<char>(number << 3 | kBytes);
      out[1] = static_cast<char>(text.size());
      if (!text.empty()) std::memcpy(out + 2, text.data(), text.size());
      return;
    }
    Bytes(text);
    Varint(text.size());
    Tag(number, kBytes);
  }
  void Integer(std::uint32_t number, std::int64_t value) {
    Varint(static_cast<std::uint64_t>(value));
    Tag(number, kVarint);
  }
  // A number of zero, or something of no length.
  void Zero(std::uint32_t number, std::uint32_t wire_type) {
    Varint(0);
    Tag(number, wire_type);
  }

 private:
  char* Grow(std::size_t count) {
    if (static_cast<std::size_t>(start_ - bytes_.get()) < count) [[unlikely]] {
      MakeRoom(count);
    }
    return start_ -= count;
  }
  [[gnu::noinline]] void LongVarint(std::uint64_t value) {
    std::size_t count = 0;
    for (std::uint64_t rest = value; rest != 0; rest >>= 7) ++count;
    char* out = Grow(count);
    for (; value > 0x7f; value >>= 7) *out++ = static_cast<char>(value | 0x80U);
    *out = static_cast<char>(value);
  }
  [[gnu::noinline]] void MakeRoom(std::size_t count) {
    const std::size_t used = size();
    const std::size_t room = 2 * room_ + count;
    auto larger = std::make_unique_for_overwrite<char[]>(room);
    std::memcpy(&larger[room - used], start_, used);
    bytes_ = std::move(larger);
    room_ = room;
    start_ = &bytes_[room - used];
  }

  std::size_t room_;
  std::unique_ptr<char[]> bytes_;
  char* start_;
};

}  // namespace portcullis::base::protobuf
