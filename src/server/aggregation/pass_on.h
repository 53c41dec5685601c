// SPDX-License-Identifier: Apache-2.0

// A request that is passed on to an aggregated API server, and its answer passed back as it comes
// (k8s.io/kube-aggregator/pkg/apiserver, proxyHandler). No thread waits for it.
#pragma once

#include <memory>

#include "server/aggregation/aggregation.h"
#include "server/call.h"

namespace portcullis::server {

// The call has been authorized and has its body. It is answered here, now or later.
void PassOn(Aggregation& aggregation, const std::shared_ptr<const ApiService>& service,
            const std::shared_ptr<Call>& call);

}  // namespace portcullis::server
