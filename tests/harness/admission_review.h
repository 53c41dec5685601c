// SPDX-License-Identifier: Apache-2.0

// What a webhook of a test answers to an AdmissionReview.
#pragma once

#include "json/value.h"
#include "net/http.h"

namespace portcullis::testing {

net::Response Allow(json::Value review);

}  // namespace portcullis::testing
