// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

namespace portcullis::base {

// Readers take documents that are 10,000 levels deep (json::ParseOptions), and what walks them calls
// itself for each level. Linux gives a thread 8 MB: an update of a custom resource of 8,500 levels needs
// more. Memory is taken as it is touched, so that only deep documents cost more.
inline constexpr std::size_t kStackSize = std::size_t{32} << 20;

// Gives the calling thread, which must be the first of the process, and all that start later stacks of
// kStackSize, unless they have larger ones or the limits of the process forbid it. Children of the
// process inherit the limit. Call it before another thread starts.
void RaiseStackSize();

}  // namespace portcullis::base
