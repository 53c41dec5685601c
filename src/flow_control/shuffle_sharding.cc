// SPDX-License-Identifier: Apache-2.0

#include "flow_control/shuffle_sharding.h"

#include <cmath>
#include <string>

#include "base/digest.h"
#include "base/strings.h"

namespace portcullis::flow_control {
namespace {

constexpr int kMaxHashBits = 60;
constexpr int kMaxDeck = 1 << 26;

unsigned NibbleOf(char digit) {
  return static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

}  // namespace

bool CanDeal(int deck_size, int hand_size) {
  if (deck_size <= 0 || hand_size <= 0 || hand_size > deck_size) return false;
  if (deck_size > kMaxDeck || hand_size > kMaxHandSize) return false;
  return std::ceil(std::log2(static_cast<double>(deck_size)) * hand_size) <= kMaxHashBits;
}

Hand Deal(int deck_size, int hand_size, std::uint64_t hash) {
  Hand hand;
  hand.size = hand_size;
  std::array<std::int32_t, kMaxHandSize> drawn{};
  for (int i = 0; i < hand_size; ++i) {
    const auto left = static_cast<std::uint64_t>(deck_size - i);
    drawn[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(hash % left);
    hash /= left;
  }
  // Each draw counted the cards that were left; now they are named by their place in the full deck.
  for (std::size_t i = 0; i < static_cast<std::size_t>(hand_size); ++i) {
    std::int32_t card = drawn[i];
    for (std::size_t j = i; j > 0; --j) {
      if (card >= drawn[j - 1]) ++card;
    }
    hand.queues[i] = card;
  }
  return hand;
}

std::uint64_t HashFlow(std::string_view schema, std::string_view distinguisher) {
  const std::string digest =
      base::Sha256Hex(base::StrCat(schema, std::string_view("\0", 1), distinguisher));
  std::uint64_t hash = 0;
  for (std::size_t byte = 8; byte-- > 0;) {
    hash = hash << 8 | NibbleOf(digest[2 * byte]) << 4 | NibbleOf(digest[2 * byte + 1]);
  }
  return hash;
}

}  // namespace portcullis::flow_control
