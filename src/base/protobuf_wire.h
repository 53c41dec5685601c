// SPDX-License-Identifier: Apache-2.0

// The wire types of protobuf. https://protobuf.dev/programming-guides/encoding/
#pragma once

#include <cstdint>

namespace portcullis::base::protobuf {

inline constexpr std::uint32_t kVarint = 0;
inline constexpr std::uint32_t kFixed64 = 1;
inline constexpr std::uint32_t kBytes = 2;
inline constexpr std::uint32_t kStartGroup = 3;
inline constexpr std::uint32_t kEndGroup = 4;
inline constexpr std::uint32_t kFixed32 = 5;

}  // namespace portcullis::base::protobuf
