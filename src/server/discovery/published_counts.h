// SPDX-License-Identifier: Apache-2.0

// Metrics whose values are looked up when /metrics is asked for: stored objects, writes, the size of the
// database, addresses in use, the availability of API services.
#pragma once

#include "api/catalog/catalog.h"
#include "server/environment.h"

namespace portcullis::server {

// Not from two threads at once.
void PublishCounts(const Environment& env, const api::catalog::Catalog& catalog);

}  // namespace portcullis::server
