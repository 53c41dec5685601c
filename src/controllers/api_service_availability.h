// SPDX-License-Identifier: Apache-2.0

// The condition Available of APIServices: one without a Service is served here; of one with a Service
// the Service, its port and its endpoints must be there, and its server must answer for the version
// (kube-aggregator, pkg/controllers/status).
#pragma once

#include "controllers/controller.h"

namespace portcullis::controllers {

// Both work as the server itself; not among --controllers. The second one waits for other servers.
extern const ControllerInfo kApiServiceAvailability;
extern const ControllerInfo kAggregatedAvailability;

}  // namespace portcullis::controllers
