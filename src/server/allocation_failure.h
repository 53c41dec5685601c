// SPDX-License-Identifier: Apache-2.0

// What becomes of a request whose worker gets no memory.
#pragma once

#include <functional>

#include "net/server.h"

namespace portcullis::server {

// Calls `work`, which answers `exchange`. If an allocation fails in it, what it was doing is
// unwound and the request ends with 500, or is cut off if its answer has begun; the server goes on.
void AnswerIfMemoryRunsOut(net::Exchange& exchange, const std::function<void()>& work);

}  // namespace portcullis::server
