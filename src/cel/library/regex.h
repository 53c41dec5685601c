// SPDX-License-Identifier: Apache-2.0

// Regular expressions as CEL has them: RE2 syntax, unanchored search, Go's error texts.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cel/library.h"

namespace portcullis::cel {

// Immutable; used from any thread.
class Regex final : public Prepared {
 public:
  // Status: `error parsing regexp: missing closing ): `a(``.
  static base::Result<std::shared_ptr<const Regex>> Compile(std::string_view pattern);
  ~Regex() override;

  bool Matches(std::string_view text) const;
  // The first match; false if there is none.
  bool Find(std::string_view text, std::string_view& match) const;
  // Non-overlapping matches, at most `limit` of them (negative: all).
  std::vector<std::string_view> FindAll(std::string_view text, std::int64_t limit) const;

 private:
  struct Compiled;
  Regex();
  std::unique_ptr<Compiled> compiled_;
};

// For rows whose second argument is a pattern.
base::Result<std::shared_ptr<const Prepared>> PreparePattern(std::span<const Value> args);

}  // namespace portcullis::cel
