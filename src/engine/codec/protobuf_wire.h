// SPDX-License-Identifier: Apache-2.0

// The wire form of protobuf, as far as reading and writing share it.
// https://protobuf.dev/programming-guides/encoding/
#pragma once

#include <cstdint>
#include <string_view>

namespace portcullis::engine::protobuf {

// How the body of an object begins; a message of type runtime.Unknown follows.
inline constexpr std::string_view kMagic("k8s\0", 4);

// The wire types.
inline constexpr std::uint32_t kVarint = 0;
inline constexpr std::uint32_t kFixed64 = 1;
inline constexpr std::uint32_t kBytes = 2;
inline constexpr std::uint32_t kStartGroup = 3;
inline constexpr std::uint32_t kEndGroup = 4;
inline constexpr std::uint32_t kFixed32 = 5;

}  // namespace portcullis::engine::protobuf
