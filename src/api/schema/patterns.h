// SPDX-License-Identifier: Apache-2.0

// Patterns: the regular expressions of one schema, each compiled when it is first used and kept as
// long as the schema. Most definitions of a cluster never see an object, so nothing is compiled
// before one comes.
//
// Thread-safe.
#pragma once

#include <memory>
#include <string_view>

namespace portcullis::api::schema {

class Patterns {
 public:
  Patterns();
  ~Patterns();
  Patterns(const Patterns&) = delete;
  Patterns& operator=(const Patterns&) = delete;

  // True if the pattern occurs in the text, or is none that RE2 understands (the definition's
  // validation has told so). `pattern` lives as long as this.
  bool Occurs(std::string_view pattern, std::string_view text) const;

 private:
  struct Compiled;
  const std::unique_ptr<Compiled> compiled_;
};

}  // namespace portcullis::api::schema
