// SPDX-License-Identifier: Apache-2.0

// The configuration of EventRateLimit: a list of limits, each asked about every event.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "admission/plugin.h"
#include "base/status.h"

namespace portcullis::plugins::event_rate_limit {

struct EventLimit {
  std::string type;  // Server, Namespace, User or SourceAndObject
  std::int64_t qps = 0;
  std::int64_t burst = 0;
  std::int64_t cache_size = 0;  // buckets kept; 0 stands for 4096
};

// Errors name the field: `limits[0].burst: Invalid value: 0: must be positive`. No configuration at
// all is an error too: `limits: Invalid value: null: must not be empty`.
base::Result<std::vector<EventLimit>> ParseConfig(const admission::PluginContext& context);

}  // namespace portcullis::plugins::event_rate_limit
