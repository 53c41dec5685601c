// SPDX-License-Identifier: Apache-2.0

// A request for an upgrade (exec, WebSocket, SPDY) that is passed on to an aggregated API server. Both connections
// are then given away, one to the other (k8s.io/apimachinery/pkg/util/proxy, UpgradeAwareHandler.tryUpgrade). No
// thread waits for it.
#pragma once

#include <memory>

#include "server/aggregation/aggregation.h"
#include "server/call.h"

namespace portcullis::server {

// The request is made but for its callbacks. The call is answered here, now or later.
void PassUpgradeOn(Aggregation& aggregation, const std::shared_ptr<Call>& call,
                   net::ClientRequest request);

}  // namespace portcullis::server
