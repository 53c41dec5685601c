// SPDX-License-Identifier: Apache-2.0

// The look-up index of large objects; private to this folder.
#pragma once

#include <cstdint>
#include <span>

#include "json/value.h"

namespace portcullis::json::internal {

// One entry (hash << 32 | position) per member, ordered by hash, name, position. A binary search
// over it stays logarithmic even if an attacker makes all hashes collide. Names may repeat.
std::uint64_t* MakeIndex(Arena& arena, std::span<const Member> members);

}  // namespace portcullis::json::internal
