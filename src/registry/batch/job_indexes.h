// SPDX-License-Identifier: Apache-2.0

// Lists of indexes of an indexed job: "1,3-5" (pkg/apis/batch/validation). Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace portcullis::registry {

struct JobIndexes {
  std::string wrong;  // in Kubernetes' words, "" if nothing
  std::vector<std::pair<std::int64_t, std::int64_t>>
      intervals;           // first and last, those that are good
  std::int64_t total = 0;  // 0 if something is wrong
};

JobIndexes ParseJobIndexes(std::string_view text, std::int64_t completions);

}  // namespace portcullis::registry
