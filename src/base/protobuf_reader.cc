// SPDX-License-Identifier: Apache-2.0

#include "base/protobuf_reader.h"

#include <string>

#include "base/strings.h"

namespace portcullis::base::protobuf {

Status UnexpectedEnd() { return BadRequest("unexpected EOF"); }
Status NegativeLength() { return BadRequest("proto: negative length found during unmarshaling"); }

Status Wire::LongVarint(std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (bytes_.empty()) return UnexpectedEnd();
    const auto byte = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
    if ((byte & 0x80U) == 0) return OkStatus();
  }
  return BadRequest("proto: integer overflow");
}

Status Wire::Skip(std::uint32_t wire_type) {
  std::uint64_t scalar = 0;
  std::string_view bytes;
  for (std::size_t depth = 0;;) {
    switch (wire_type) {
      case kVarint:
        TRY(Varint(scalar));
        break;
      case kFixed64:
        TRY(Take(8, bytes));
        break;
      case kBytes:
        TRY(Bytes(bytes));
        break;
      case kStartGroup:
        ++depth;
        break;
      case kEndGroup:
        if (depth == 0) return BadRequest("proto: unexpected end of group");
        --depth;
        break;
      case kFixed32:
        TRY(Take(4, bytes));
        break;
      default:
        return BadRequest(StrCat("proto: illegal wireType ", std::to_string(wire_type)));
    }
    if (depth == 0) return OkStatus();
    if (done()) return UnexpectedEnd();
    std::uint64_t tag = 0;
    TRY(Varint(tag));
    wire_type = static_cast<std::uint32_t>(tag & 7U);
  }
}

Status ReadTag(Wire& wire, std::string_view message, Part& part) {
  std::uint64_t tag = 0;
  TRY(wire.Varint(tag));
  part.number = static_cast<std::uint32_t>(tag >> 3);
  part.wire_type = static_cast<std::uint32_t>(tag & 7U);
  if (part.wire_type == kEndGroup) {
    return BadRequest(StrCat("proto: ", message, ": wiretype end group for non-group"));
  }
  if (const auto number = static_cast<std::int32_t>(part.number); number <= 0) {
    return BadRequest(StrCat("proto: ", message, ": illegal tag ", std::to_string(number),
                             " (wire type ", std::to_string(tag), ")"));
  }
  return OkStatus();
}

Status ReadContent(Wire& wire, std::uint32_t expected, std::string_view go_name, Part& part) {
  if (part.wire_type != expected) {
    return BadRequest(
        StrCat("proto: wrong wireType = ", std::to_string(part.wire_type), " for field ", go_name));
  }
  switch (expected) {
    case kVarint:
      return wire.Varint(part.scalar);
    case kFixed64:
      return wire.Fixed(8, part.scalar);
    default:
      return wire.Bytes(part.bytes);
  }
}

}  // namespace portcullis::base::protobuf
