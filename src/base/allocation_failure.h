// SPDX-License-Identifier: Apache-2.0

// UnlessMemoryRunsOut is where a failed allocation, the one exception that crosses functions, ends.
#pragma once

#include <new>

namespace portcullis::base {

// Calls `work`. False if an allocation in it failed: what it was doing is unwound then, and what it
// held is free again. Used around whole requests and around each thing that a thread of ours does,
// so that neither a thread nor the process ends.
template <typename Work>
bool UnlessMemoryRunsOut(Work&& work) {
  try {
    work();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace portcullis::base
