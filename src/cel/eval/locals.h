// SPDX-License-Identifier: Apache-2.0

// Locals: the variables of comprehensions that an expression sees while it is planned, and the slot
// of the evaluation's frame in which each one's value stands. Slots of variables that are never seen
// at once are shared. Names and nodes are borrowed from what is planned.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cel/eval/node.h"

namespace portcullis::cel {

class Locals {
 public:
  struct Local {
    std::string_view name;
    std::int32_t slot;
    const Node* init;  // of an accumulator that is evaluated lazily, or null
  };

  // Gives the variables that were added since back their slots.
  class Scope {
   public:
    explicit Scope(Locals& locals)
        : locals_(locals), size_(locals.size()), next_slot_(locals.next_slot_) {}
    ~Scope() {
      locals_.Hide(size_);
      locals_.next_slot_ = next_slot_;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Locals& locals_;
    const std::size_t size_;
    const std::int32_t next_slot_;
  };

  // Returns its slot.
  std::int32_t Add(std::string_view name, const Node* init = nullptr) {
    const std::int32_t slot = next_slot_++;
    slots_ = std::max(slots_, next_slot_);
    all_.push_back({name, slot, init});
    return slot;
  }
  // The innermost of that name, or null.
  const Local* Find(std::string_view name) const {
    const auto found = std::find_if(all_.rbegin(), all_.rend(),
                                    [&](const Local& local) { return local.name == name; });
    return found == all_.rend() ? nullptr : &*found;
  }
  std::size_t size() const { return all_.size(); }
  // Only the first `size` are seen from here on.
  void Hide(std::size_t size) { all_.resize(size); }
  // The slots that a frame needs.
  std::int32_t slots() const { return slots_; }

 private:
  std::vector<Local> all_;
  std::int32_t next_slot_ = 0;
  std::int32_t slots_ = 0;
};

}  // namespace portcullis::cel
