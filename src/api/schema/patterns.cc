// SPDX-License-Identifier: Apache-2.0

#include "api/schema/patterns.h"

#include <re2/re2.h>

#include <unordered_map>

#include "base/mutex.h"

namespace portcullis::api::schema {

struct Patterns::Compiled {
  base::SharedMutex mutex;
  std::unordered_map<std::string_view, std::unique_ptr<const RE2>> by_text PC_GUARDED_BY(mutex);

  const RE2& Get(std::string_view pattern) {
    {
      const base::ReaderLock lock(mutex);
      const auto found = by_text.find(pattern);
      if (found != by_text.end()) return *found->second;
    }
    auto made =
        std::make_unique<const RE2>(re2::StringPiece(pattern.data(), pattern.size()), RE2::Quiet);
    const base::WriterLock lock(mutex);
    return *by_text.try_emplace(pattern, std::move(made)).first->second;
  }
};

Patterns::Patterns() : compiled_(std::make_unique<Compiled>()) {}
Patterns::~Patterns() = default;

bool Patterns::Occurs(std::string_view pattern, std::string_view text) const {
  const RE2& regex = compiled_->Get(pattern);
  return !regex.ok() || RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), regex);
}

}  // namespace portcullis::api::schema
