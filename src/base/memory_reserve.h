// SPDX-License-Identifier: Apache-2.0

// What becomes of a failed allocation where no request could end because of it: while a batch is
// committed and published, and on threads that work for all clients. There it is met from memory that
// was put aside, or waits until others have freed some. Elsewhere it throws std::bad_alloc, which ends
// the request (allocation_failure.h).
//
//   base::PutMemoryAside();             // once, when a server is made
//   const base::NeedsMemory needs;      // this thread cannot do without, for as long as this lives
#pragma once

namespace portcullis::base {

// Sets the process' handler of failed allocations (std::set_new_handler). Thread-safe; the first call
// counts. Until then allocations fail everywhere as they do elsewhere.
void PutMemoryAside();

// Confined to its thread; may be nested.
class NeedsMemory {
 public:
  NeedsMemory();
  // The last one of a thread puts memory aside again if it has been used.
  ~NeedsMemory();
  NeedsMemory(const NeedsMemory&) = delete;
  NeedsMemory& operator=(const NeedsMemory&) = delete;
};

}  // namespace portcullis::base
