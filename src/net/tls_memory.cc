// SPDX-License-Identifier: Apache-2.0

#include "net/tls_memory.h"

#include <malloc.h>
#include <openssl/crypto.h>

#include <array>
#include <cstddef>
#include <cstdlib>

namespace portcullis::net {
namespace {

// A record of 16 KB with what goes around it. All of them take a block of one size, by which it is
// known when it comes back.
constexpr std::size_t kSmallest = 16 * 1024;
constexpr std::size_t kBlock = 18 * 1024;
constexpr std::size_t kLargest = kBlock + 32;  // what malloc may make of it
constexpr std::size_t kKept = 4;  // of each thread: it works on one connection at a time

struct Kept {
  ~Kept() {
    while (count > 0) std::free(blocks[--count]);
    count = kKept;  // what comes later, while the thread ends, is not kept
  }
  std::array<void*, kKept> blocks{};
  std::size_t count = 0;
};

Kept& OfThread() {
  thread_local Kept kept;
  return kept;
}

// As OpenSSL calls them, with the place of the call.
void* Allocate(std::size_t size, const char*, int) { return AllocateForTls(size); }
void Free(void* block, const char*, int) { FreeForTls(block); }
void* Reallocate(void* block, std::size_t size, const char*, int) {
  if (block == nullptr) return AllocateForTls(size);
  if (size != 0) return std::realloc(block, size);
  FreeForTls(block);
  return nullptr;
}

}  // namespace

void* AllocateForTls(std::size_t size) {
  if (size == 0) return nullptr;
  if (size < kSmallest || size > kBlock) return std::malloc(size);
  Kept& kept = OfThread();
  return kept.count > 0 ? kept.blocks[--kept.count] : std::malloc(kBlock);
}

void FreeForTls(void* block) {
  if (block == nullptr) return;
  const std::size_t size = malloc_usable_size(block);
  Kept& kept = OfThread();
  const bool fits = size >= kBlock && size < kLargest && kept.count < kKept;
  if (!fits) return std::free(block);
  kept.blocks[kept.count++] = block;
}

void KeepTlsBuffers() { CRYPTO_set_mem_functions(Allocate, Reallocate, Free); }

}  // namespace portcullis::net
