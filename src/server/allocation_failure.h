// SPDX-License-Identifier: Apache-2.0

// What becomes of a request whose worker gets no memory.
#pragma once

#include "base/allocation_failure.h"
#include "net/server.h"

namespace portcullis::server {

// Ends a request whose work was unwound: with 500, or it is cut off if its answer has begun.
void AnswerThatMemoryRanOut(net::Exchange& exchange);

// Calls `work`, which answers `exchange`. If an allocation fails in it, what it was doing is unwound
// and the request ends; the server goes on. Allocates nothing outside of `work`, as a std::function made
// of it would.
template <typename Work>
void AnswerIfMemoryRunsOut(net::Exchange& exchange, Work&& work) {
  if (!base::UnlessMemoryRunsOut(work)) AnswerThatMemoryRanOut(exchange);
}

}  // namespace portcullis::server
