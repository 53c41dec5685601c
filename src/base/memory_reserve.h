// SPDX-License-Identifier: Apache-2.0

// What becomes of a failed allocation where no request could end because of it: while a batch is
// committed and published, and on threads that work for all clients. There it is met from memory that
// was put aside, or waits until others have freed some. Elsewhere it throws std::bad_alloc, which ends
// the request (allocation_failure.h). A request that takes much is ended so at a limit of our own, too,
// before the kernel ends the process.
//
//   base::PutMemoryAside();             // once, when a server is made
//   base::LimitMemory(bytes, &budget);  // when it serves
//   const base::NeedsMemory needs;      // this thread cannot do without, for as long as this lives
#pragma once

#include <cstddef>

namespace portcullis::base {

// Sets the process' handler of failed allocations (std::set_new_handler). Thread-safe; the first call
// counts. Until then allocations fail everywhere as they do elsewhere.
void PutMemoryAside();

// What this process takes: resident memory that is not of files.
std::size_t UsedMemory();

// Has memory that can be given back.
class RoomMaker {
 public:
  // On any thread, whatever locks it holds: may wait for locks of others only for a while.
  virtual void MakeRoom() = 0;

 protected:
  ~RoomMaker() = default;
};

// What AskForMemory() keeps the process below; at first there is no limit. `room` (may be null) is there
// until another call names another one, and no thread asks meanwhile. Thread-safe.
void LimitMemory(std::size_t bytes, RoomMaker* room = nullptr);

// Before much is allocated: throws std::bad_alloc if the process would take more than its limit with
// `size` bytes more, after room has been made, too, but not where NeedsMemory is. Takes some microseconds
// below the limit.
void AskForMemory(std::size_t size);

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
