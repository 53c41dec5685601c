// SPDX-License-Identifier: Apache-2.0

#include "server/call.h"

#include "base/clock.h"
#include "server/admission_traces.h"

namespace portcullis::server {

Call::Call(const Environment& environment, std::shared_ptr<net::Exchange> its_exchange)
    : engine::Operation(environment), env(environment), exchange(std::move(its_exchange)) {
  started = exchange->received_at();
}

Call::Call(const Environment& environment, net::Request own)
    : engine::Operation(environment),
      env(environment),
      own_request(std::make_unique<const net::Request>(std::move(own))) {
  started = env.clock->Steady();
}

Call::~Call() = default;

}  // namespace portcullis::server
