// SPDX-License-Identifier: Apache-2.0

// What `operator new` and `operator delete` of the server do: each thread keeps blocks that it has freed
// and hands them out again. A request takes some hundred blocks and gives all of them back; malloc(3) keeps
// seven of a size for a thread, none above 1 KB, and looks through its heap for the rest.
//
// A block is one of malloc(3), so free(3) may have it, too. What a thread keeps is bounded (kHeapCache): when
// that is reached it gives back all, so that sizes that are no longer asked for do not stay. At the end of a
// thread likewise. Blocks may be freed by another thread than took them.
#pragma once

#include <cstddef>

namespace portcullis::base {

inline constexpr std::size_t kHeapCache = 256 * 1024;  // bytes that a thread keeps at most

// Null without memory. Requests above 1 KB may get up to 512 bytes more than they ask for.
void* TakeFromHeap(std::size_t size) noexcept;

// What TakeFromHeap() or malloc(3) has returned, or null. Aborts if it has been given back already and is
// still kept.
void GiveToHeap(void* block) noexcept;
// The same for who knows what size was asked for.
void GiveToHeap(void* block, std::size_t size) noexcept;

}  // namespace portcullis::base
