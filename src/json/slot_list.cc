// SPDX-License-Identifier: Apache-2.0

#include "json/slot_list.h"

#include <utility>

#include "json/working_copy.h"

namespace portcullis::json::internal {
namespace {

constexpr std::size_t kMostOfBlock = 512;

std::ptrdiff_t Offset(std::size_t position) { return static_cast<std::ptrdiff_t>(position); }

}  // namespace

SlotList::Position SlotList::Find(std::size_t position) const {
  std::size_t block = 0;
  while (position >= blocks_[block].size()) position -= blocks_[block++].size();
  return {block, position};
}

Slot& SlotList::operator[](std::size_t position) {
  const Position at = Find(position);
  return blocks_[at.block][at.offset];
}

void SlotList::PushBack(Slot slot) {
  if (blocks_.empty() || blocks_.back().size() == kMostOfBlock) blocks_.emplace_back();
  blocks_.back().push_back(std::move(slot));
  ++size_;
}

void SlotList::Insert(std::size_t position, Slot slot) {
  if (position == size_) return PushBack(std::move(slot));
  Position at = Find(position);
  if (blocks_[at.block].size() == kMostOfBlock) {
    std::vector<Slot> behind;
    for (std::size_t i = kMostOfBlock / 2; i < kMostOfBlock; ++i) {
      behind.push_back(std::move(blocks_[at.block][i]));
    }
    blocks_[at.block].resize(kMostOfBlock / 2);
    blocks_.insert(blocks_.begin() + Offset(at.block + 1), std::move(behind));
    at = Find(position);
  }
  std::vector<Slot>& block = blocks_[at.block];
  block.insert(block.begin() + Offset(at.offset), std::move(slot));
  ++size_;
}

void SlotList::Erase(std::size_t position) {
  const Position at = Find(position);
  std::vector<Slot>& block = blocks_[at.block];
  block.erase(block.begin() + Offset(at.offset));
  if (block.empty()) blocks_.erase(blocks_.begin() + Offset(at.block));
  --size_;
}

}  // namespace portcullis::json::internal
