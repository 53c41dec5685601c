// SPDX-License-Identifier: Apache-2.0

// What /metrics tells of the process: its build, its memory, and the connections of its clients.
#pragma once

#include <memory>

#include "metrics/metrics.h"
#include "net/server.h"
#include "release/release.h"
#include "server/memory_budget.h"

namespace portcullis::server {

// They live as long as `metrics` is asked; `listener` may become null.
void AddProcessGauges(metrics::Registry& metrics, const release::Release& release,
                      const MemoryBudget& memory,
                      const std::unique_ptr<net::HttpsServer>& listener);

}  // namespace portcullis::server
