// SPDX-License-Identifier: Apache-2.0

// The condition Available of APIServices: one without a Service is served here; of one with a Service
// the Service, its port and its endpoints must be there (kube-aggregator, pkg/controllers/status). No
// aggregated API server is called, so that one that could be is not available either.
#pragma once

#include "controllers/controller.h"

namespace portcullis::controllers {

// Works as the server itself; not among --controllers.
extern const ControllerInfo kApiServiceAvailability;

}  // namespace portcullis::controllers
