// SPDX-License-Identifier: Apache-2.0

// Flags whose value is a record of CSV, as pflag's StringSlice reads it: a field with commas is quoted, empty
// fields count, and fields add up over repeated flags.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "flags/setters.h"

namespace portcullis::flags {

// Errors: those of golang::ParseCsv().
base::Status AddRecordTo(std::vector<std::string>& list, std::string_view value);

template <auto Member>
base::Status AddRecord(OwnerOf<Member>& options, std::string_view value) {
  return AddRecordTo(options.*Member, value);
}

}  // namespace portcullis::flags
