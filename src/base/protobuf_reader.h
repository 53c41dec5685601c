// SPDX-License-Identifier: Apache-2.0

// Reads the wire form of protobuf, with the errors of Go's generated decoders. Texts are views of the
// bytes that are read.
// https://protobuf.dev/programming-guides/encoding/
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/protobuf_wire.h"
#include "base/status.h"

namespace portcullis::base::protobuf {

Status UnexpectedEnd();
Status NegativeLength();

class Wire {
 public:
  explicit Wire(std::string_view bytes) : bytes_(bytes) {}
  bool done() const { return bytes_.empty(); }

  Status Varint(std::uint64_t& value) {
    if (!bytes_.empty() && static_cast<unsigned char>(bytes_.front()) < 0x80U) {
      value = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      return OkStatus();
    }
    return LongVarint(value);
  }

  Status Bytes(std::string_view& value) {
    std::uint64_t size = 0;
    TRY(Varint(size));
    if (static_cast<std::int64_t>(size) < 0) return NegativeLength();
    return Take(size, value);
  }

  Status Fixed(std::size_t size, std::uint64_t& value) {
    std::string_view bytes;
    TRY(Take(size, bytes));
    value = 0;
    std::memcpy(&value, bytes.data(), size);
    return OkStatus();
  }

  // Whether the next thing is a number of zero, or something of no length; and goes past it.
  bool IsAtZero() const { return !bytes_.empty() && bytes_.front() == 0; }
  void TakeZero() { bytes_.remove_prefix(1); }

  // Goes past a tag of one or two bytes, as nearly all are; false if there is none that ReadTag() would take.
  bool TakeShortTag(std::uint32_t& number, std::uint32_t& wire_type) {
    if (bytes_.size() < 2) return false;
    const auto first = static_cast<unsigned char>(bytes_[0]);
    const auto second = static_cast<unsigned char>(bytes_[1]);
    const bool is_long = first >= 0x80U;
    if (is_long && second >= 0x80U) return false;
    const std::uint32_t tag = is_long ? (first & 0x7fU) | std::uint32_t{second} << 7 : first;
    if (tag >> 3 == 0 || (tag & 7U) == kEndGroup) return false;
    number = tag >> 3;
    wire_type = tag & 7U;
    bytes_.remove_prefix(is_long ? 2 : 1);
    return true;
  }

  // Goes past a tag if that is the next thing, in as few bytes as it can be written.
  bool TakeTag(std::uint32_t number, std::uint32_t wire_type) {
    std::uint32_t tag = number << 3 | wire_type;
    std::size_t size = 0;
    for (;; tag >>= 7, ++size) {
      const auto byte = static_cast<unsigned char>(tag > 0x7f ? (tag & 0x7fU) | 0x80U : tag);
      if (size == bytes_.size() || static_cast<unsigned char>(bytes_[size]) != byte) return false;
      if (tag <= 0x7f) break;
    }
    bytes_.remove_prefix(size + 1);
    return true;
  }

  // What follows a tag of a field that is not known; groups with all they hold.
  Status Skip(std::uint32_t wire_type);

 private:
  Status LongVarint(std::uint64_t& value);
  Status Take(std::size_t size, std::string_view& value) {
    if (size > bytes_.size()) return UnexpectedEnd();
    value = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return OkStatus();
  }

  std::string_view bytes_;
};

// One field as it stands on the wire.
struct Part {
  std::uint32_t number = 0;
  std::uint32_t wire_type = 0;
  std::uint64_t scalar = 0;
  std::string_view bytes;
};

// The number and wire type of the next field of a message of that name.
Status ReadTag(Wire& wire, std::string_view message, Part& part);

// The value behind a tag of a field that takes `expected`; `go_name` is what Go calls the field.
Status ReadContent(Wire& wire, std::uint32_t expected, std::string_view go_name, Part& part);

}  // namespace portcullis::base::protobuf
