// SPDX-License-Identifier: Apache-2.0

// Pattern: a regular expression of Go's syntax (RE2), as flags and test files have them. Immutable; copies
// share it; thread-safe.
#pragma once

#include <memory>
#include <string_view>

#include "base/status.h"

namespace re2 {
class RE2;
}

namespace portcullis::offline {

class Pattern {
 public:
  // The error is RE2's: `missing ): (a`.
  static base::Result<Pattern> Read(std::string_view text);
  // Whether a part of the text matches.
  bool Finds(std::string_view text) const;

 private:
  std::shared_ptr<const re2::RE2> expression_;
};

}  // namespace portcullis::offline
