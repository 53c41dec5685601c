// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace portcullis::json {

// Spaces before the lines of a document are quadratic in its depth: 60 KB of 10,000 levels would become
// 300 MB. What is deeper than so many levels stands no further in; YAML writes it in brackets.
inline constexpr int kMaxIndentedLevels = 200;

}  // namespace portcullis::json
