// SPDX-License-Identifier: Apache-2.0

// The heads of CBOR's data items (RFC 8949 §3): a major type and its argument.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace portcullis::cbor {

enum class Major : std::uint8_t {
  kPositive,
  kNegative,
  kBytes,
  kText,
  kArray,
  kMap,
  kTag,
  kPrimitive,
};

// The additional information of a head, as far as it means something by itself.
inline constexpr std::uint8_t kOneByte = 24;  // an argument of one byte follows
inline constexpr std::uint8_t kTwoBytes = 25;
inline constexpr std::uint8_t kFourBytes = 26;
inline constexpr std::uint8_t kEightBytes = 27;
inline constexpr std::uint8_t kIndefinite = 31;
inline constexpr std::uint8_t kFalse = 20;
inline constexpr std::uint8_t kTrue = 21;
inline constexpr std::uint8_t kNull = 22;

inline constexpr unsigned char kBreak = 0xff;

// Tags: times, integers without limit, and the text encodings that byte strings are expected to get.
inline constexpr std::uint64_t kTimeText = 0;
inline constexpr std::uint64_t kTimeNumber = 1;
inline constexpr std::uint64_t kUnsignedBignum = 2;
inline constexpr std::uint64_t kNegativeBignum = 3;
inline constexpr std::uint64_t kBase64Url = 21;
inline constexpr std::uint64_t kBase64 = 22;
inline constexpr std::uint64_t kBase16 = 23;

// Tag 55799, which says that what follows is CBOR: all that Kubernetes writes begins with it.
inline constexpr std::string_view kSelfDescribed = "\xd9\xd9\xf7";

struct Head {
  Major major = Major::kPrimitive;
  std::uint8_t info = kNull;   // additional information
  std::uint64_t argument = 0;  // for small ones the same as `info`

  bool is_indefinite() const { return info == kIndefinite; }
};

}  // namespace portcullis::cbor
