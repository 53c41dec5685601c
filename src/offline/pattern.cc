// SPDX-License-Identifier: Apache-2.0

#include "offline/pattern.h"

#include <re2/re2.h>

namespace portcullis::offline {

base::Result<Pattern> Pattern::Read(std::string_view text) {
  Pattern pattern;
  pattern.expression_ = std::make_shared<const re2::RE2>(text, re2::RE2::Quiet);
  if (!pattern.expression_->ok()) return base::BadRequest(pattern.expression_->error());
  return pattern;
}

bool Pattern::Finds(std::string_view text) const {
  return re2::RE2::PartialMatch(text, *expression_);
}

}  // namespace portcullis::offline
