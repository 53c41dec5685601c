// SPDX-License-Identifier: Apache-2.0

// Lists the pods of a Service in EndpointSlices.
#pragma once

#include "controllers/controller.h"

namespace portcullis::controllers {

extern const ControllerInfo kEndpointSlice;

}  // namespace portcullis::controllers
