// SPDX-License-Identifier: Apache-2.0

#include "flags/record.h"

#include "golang/csv.h"

namespace portcullis::flags {

base::Status AddRecordTo(std::vector<std::string>& list, std::string_view value) {
  const auto records = TRY(golang::ParseCsv(value));
  if (!records.empty()) list.insert(list.end(), records[0].begin(), records[0].end());
  return base::OkStatus();
}

}  // namespace portcullis::flags
