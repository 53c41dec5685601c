// SPDX-License-Identifier: Apache-2.0

// What discovery shows of aggregated API servers: asked for when their APIServices change, and each
// minute (kube-aggregator, pkg/apiserver, discoveryManager).
#pragma once

#include "controllers/controller.h"

namespace portcullis::controllers {

// Not among --controllers.
extern const ControllerInfo kAggregatedDiscovery;

}  // namespace portcullis::controllers
