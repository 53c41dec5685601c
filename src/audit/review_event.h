// SPDX-License-Identifier: Apache-2.0

// AdmissionReviews as audit events, so that a webhook can make the same recordings as an audit log.
//
// A pure function; thread-safe.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "json/value.h"

namespace portcullis::audit {

// The event (audit.k8s.io/v1, level Request) of the `request` of an AdmissionReview, as one line of JSON.
// No value for what no recording has: dry runs, connections, a request without a resource.
//
// A webhook does not see what the API server answers: the event has no responseStatus. It sees the stored
// object, which an audit event has no field for: it is the member "oldObject".
std::optional<std::string> EventOfReview(json::Value request, base::WallTime now);

}  // namespace portcullis::audit
