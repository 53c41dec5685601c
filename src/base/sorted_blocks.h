// SPDX-License-Identifier: Apache-2.0

// SortedBlocks keeps elements in the order of their keys, side by side in blocks: no node, no
// pointers of a tree. An element costs its own size and a third more; finding one takes as many
// comparisons as in a tree, putting one in moves at most a block. For hundreds of thousands of
// small elements such as pointers. Not synchronized.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace portcullis::base {

// `KeyOf` gives an element's key as a string_view; no two elements have the same one.
template <typename T, typename KeyOf>
class SortedBlocks {
 public:
  std::size_t size() const { return size_; }

  // The element, or null. Valid until the next change.
  T* Find(std::string_view key) {
    const Place place = Lower(key);
    if (place.block == blocks_.size()) return nullptr;
    T& element = blocks_[place.block][place.index];
    return KeyOf()(element) == key ? &element : nullptr;
  }
  const T* Find(std::string_view key) const { return const_cast<SortedBlocks*>(this)->Find(key); }

  // REQUIRES: no element has its key.
  void Insert(T element) {
    ++size_;
    Place place = Lower(KeyOf()(element));
    if (place.block == blocks_.size()) {
      // Behind everything: a full block stays full, so that what comes in order lies close.
      if (blocks_.empty() || blocks_.back().size() == kBlock) blocks_.emplace_back();
      blocks_.back().push_back(std::move(element));
      return;
    }
    if (blocks_[place.block].size() == kBlock) {
      Split(place.block);
      if (place.index > kBlock / 2) place = {place.block + 1, place.index - kBlock / 2};
    }
    Block& block = blocks_[place.block];
    block.insert(block.begin() + static_cast<std::ptrdiff_t>(place.index), std::move(element));
  }

  // The element removed. REQUIRES: it is there.
  T Take(std::string_view key) {
    --size_;
    const Place place = Lower(key);
    Block& block = blocks_[place.block];
    T taken = std::move(block[place.index]);
    block.erase(block.begin() + static_cast<std::ptrdiff_t>(place.index));
    Shrink(place.block);
    return taken;
  }

  // Calls `visit(element)` for all elements whose key is not less than `from` (with `behind`: is
  // greater), in order, until it returns false.
  template <typename Visit>
  void VisitFrom(std::string_view from, bool behind, Visit visit) const {
    Place place = Lower(from);
    if (behind && place.block != blocks_.size() &&
        KeyOf()(blocks_[place.block][place.index]) == from) {
      ++place.index;
    }
    for (; place.block < blocks_.size(); ++place.block, place.index = 0) {
      const Block& block = blocks_[place.block];
      for (; place.index < block.size(); ++place.index) {
        if (!visit(block[place.index])) return;
      }
    }
  }

 private:
  static constexpr std::size_t kBlock = 64;
  using Block = std::vector<T>;  // never empty
  struct Place {
    std::size_t block = 0;
    std::size_t index = 0;
  };

  // The first element whose key is not less; {blocks_.size(), 0} if there is none.
  Place Lower(std::string_view key) const {
    const auto less = [](const T& element, std::string_view k) { return KeyOf()(element) < k; };
    const auto block =
        std::lower_bound(blocks_.begin(), blocks_.end(), key,
                         [&](const Block& b, std::string_view k) { return less(b.back(), k); });
    if (block == blocks_.end()) return {blocks_.size(), 0};
    const auto element = std::lower_bound(block->begin(), block->end(), key, less);
    return {static_cast<std::size_t>(block - blocks_.begin()),
            static_cast<std::size_t>(element - block->begin())};
  }

  void Split(std::size_t number) {
    Block upper;
    upper.reserve(kBlock);
    Block& full = blocks_[number];
    const auto middle = full.begin() + kBlock / 2;
    upper.assign(std::make_move_iterator(middle), std::make_move_iterator(full.end()));
    full.erase(middle, full.end());
    blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(number) + 1, std::move(upper));
  }

  // Joins a block that has become small with the one behind it, if both are.
  void Shrink(std::size_t number) {
    Block& block = blocks_[number];
    if (!block.empty()) {
      if (number + 1 == blocks_.size() || block.size() + blocks_[number + 1].size() > kBlock / 2) {
        return;
      }
      Block& next = blocks_[number + 1];
      next.insert(next.begin(), std::make_move_iterator(block.begin()),
                  std::make_move_iterator(block.end()));
    }
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(number));
  }

  std::vector<Block> blocks_;
  std::size_t size_ = 0;
};

}  // namespace portcullis::base
