// SPDX-License-Identifier: Apache-2.0

// Go's strconv.FormatFloat(v, 'g', -1, …), as go-yaml prints floats; private to this folder.
#pragma once

#include <string>

namespace portcullis::json::internal {

// Shortest digits that read back as the same number: 0.5, 1e+06, .inf, -.inf, .nan.
std::string FormatShortest(double value);
std::string FormatShortest(float value);

}  // namespace portcullis::json::internal
