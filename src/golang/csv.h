// SPDX-License-Identifier: Apache-2.0

// Comma-separated values as Go's encoding/csv reads them: quoted fields with "" for a quote, line
// breaks inside quotes, empty lines skipped, any number of fields. Source: RFC 4180.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace portcullis::golang {

// Errors: `parse error on line 1, column 2: bare " in non-quoted-field`.
base::Result<std::vector<std::vector<std::string>>> ParseCsv(std::string_view text);

}  // namespace portcullis::golang
