// SPDX-License-Identifier: Apache-2.0

// The memory of OpenSSL. A TLS connection borrows a buffer of 17 KB for each record that it reads or
// writes and gives it back, so that one that is idle holds none. glibc looks through all that is free for a
// block of this size, and joins what it is given back; here each thread keeps the few that it needs.
#pragma once

#include <cstddef>

namespace portcullis::net {

// From here on OpenSSL gets its memory so, in the whole process. Call it in main(), before anything uses
// OpenSSL; later it does nothing.
void KeepTlsBuffers();

// What it installs. Null without memory, and for a size of 0. A block is one of malloc(3).
void* AllocateForTls(std::size_t size);
void FreeForTls(void* block);

}  // namespace portcullis::net
