// SPDX-License-Identifier: Apache-2.0

// Requests of the server itself: its controllers, and what it keeps about itself. They are
// operations of the engine that never were HTTP; around them is what is around requests of clients:
// the audit event, the memory limit, a seat, authorization, metrics.
#pragma once

#include <cstdint>
#include <memory>

#include "controllers/client.h"
#include "server/environment.h"

namespace portcullis::server {

enum class Limits : std::uint8_t {
  kApply,  // waits for a seat as clients do
  kNone,   // amid a request, which has a seat, or before there is anything to wait for
};

// A client of `env`, which outlives it. Its requests run on the calling thread.
std::unique_ptr<controllers::Client> MakeOwnClient(const Environment& env,
                                                   controllers::Identity identity, Limits limits);

}  // namespace portcullis::server
