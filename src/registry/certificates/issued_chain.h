// SPDX-License-Identifier: Apache-2.0

// The certificates that a signer has issued for a pod (pkg/apis/certificates/validation). Pure functions.
#pragma once

#include "base/clock.h"
#include "registry/validation/checks.h"

namespace portcullis::registry {

// All that is wrong with the status of an issued PodCertificateRequest: the chain, whether its leaf is for the
// key in `wanted` (the spec as it is stored), and its times.
void CheckIssued(json::Value request, json::Value wanted, base::WallTime now, FieldErrors& errors);

}  // namespace portcullis::registry
