// SPDX-License-Identifier: Apache-2.0

// Shuffle sharding: each flow is dealt a few of a level's queues, always the same ones, and a
// request takes the least loaded of them. Two flows share all their queues only with a tiny
// probability, so a flow that fills its queues leaves others room
// (k8s.io/apiserver/pkg/util/shufflesharding).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace portcullis::flow_control {

// The longest hand that a PriorityLevelConfiguration may ask for.
inline constexpr int kMaxHandSize = 15;

// Some queues of a level, in the order dealt.
struct Hand {
  std::array<std::int32_t, kMaxHandSize> queues{};
  int size = 0;

  std::span<const std::int32_t> cards() const {
    return {queues.data(), static_cast<std::size_t>(size)};
  }
};

// Whether `hand_size` of `deck_size` queues can be dealt from 60 bits of entropy.
bool CanDeal(int deck_size, int hand_size);

// `hand_size` different numbers below `deck_size`, chosen by `hash`. REQUIRES: CanDeal().
Hand Deal(int deck_size, int hand_size, std::uint64_t hash);

// The entropy of a flow: the first 8 bytes of SHA-256 over the FlowSchema's name, a zero byte and
// the flow distinguisher, as a little-endian number.
std::uint64_t HashFlow(std::string_view schema, std::string_view distinguisher);

}  // namespace portcullis::flow_control
