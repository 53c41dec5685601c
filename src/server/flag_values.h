// Durations in queries.
#pragma once

#include <chrono>
#include <string_view>

#include "base/status.h"
#include "golang/time.h"

namespace portcullis::server::internal {

inline base::Result<std::chrono::nanoseconds> ReadDuration(std::string_view text) {
  return std::chrono::nanoseconds(TRY(golang::ParseDuration(text)));
}

}  // namespace portcullis::server::internal
