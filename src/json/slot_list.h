// SPDX-License-Identifier: Apache-2.0

// SlotList: the elements of an array that a patch changes; private to this folder.
//
// Patches put thousands of elements into the front of arrays of hundreds of thousands. The elements
// are therefore kept in blocks: an insertion or a removal moves those of one block and passes over
// the others, some thousand at most.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "json/value.h"

namespace portcullis::json::internal {

struct OpenContainer;

// A value, opened or not.
struct Slot {
  Value value;  // meaningless while open
  std::unique_ptr<OpenContainer> open;
};

// Positions are below size(), or equal to it for Insert().
class SlotList {
 public:
  std::size_t size() const { return size_; }
  Slot& operator[](std::size_t position);
  void PushBack(Slot slot);
  void Insert(std::size_t position, Slot slot);
  void Erase(std::size_t position);

  // Calls `visit` with each element in order until it returns false; whether all were visited.
  template <typename Visit>
  bool ForEach(Visit visit) const {
    for (const std::vector<Slot>& block : blocks_) {
      for (const Slot& slot : block) {
        if (!visit(slot)) return false;
      }
    }
    return true;
  }

 private:
  struct Position {
    std::size_t block, offset;
  };
  Position Find(std::size_t position) const;

  std::vector<std::vector<Slot>> blocks_;  // none is empty
  std::size_t size_ = 0;
};

}  // namespace portcullis::json::internal
