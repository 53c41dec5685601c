// SPDX-License-Identifier: Apache-2.0

// Ports of Endpoints and EndpointSlices (pkg/apis/core/validation, pkg/apis/discovery/validation).
#pragma once

#include "registry/validation/checks.h"

namespace portcullis::registry {

// The protocol and the appProtocol of a port.
void CheckProtocolAndApp(json::Value port, const FieldPath& path, FieldErrors& errors);

}  // namespace portcullis::registry
