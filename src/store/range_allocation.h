// SPDX-License-Identifier: Apache-2.0

// RangeAllocation: which numbers of a range are taken, as servers that share a store agree on it. There
// is one, for the node ports of Services (kube-apiserver: pkg/registry/core/service/allocator).
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"

namespace portcullis::store {

// Thread-safe.
class RangeAllocation {
 public:
  struct State {
    std::string range;        // "30000-32767"; "": nothing has been stored yet
    std::vector<bool> taken;  // by the distance from the first one; what is behind the end is free

    bool IsTaken(std::size_t offset) const { return offset < taken.size() && taken[offset]; }
    void Set(std::size_t offset, bool is_taken) {
      if (offset >= taken.size()) taken.resize(offset + 1);
      taken[offset] = is_taken;
    }
  };
  using Edit = std::function<base::Status(State&)>;

  virtual ~RangeAllocation() = default;
  // Calls `edit` with the newest state and stores what it makes of it: anew if another server was
  // faster, for some seconds at most. If `edit` fails, nothing is stored and its error is returned.
  // Waits for the store.
  virtual base::Status Change(const Edit& edit) = 0;
};

}  // namespace portcullis::store
