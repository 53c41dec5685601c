// SPDX-License-Identifier: Apache-2.0

// A list or object that each error about one of its elements quotes as a whole. kube-apiserver does
// so without limit, which takes the square of its size; here it is quoted as a whole until that has
// taken 4 MiB, and cut afterwards.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "api/field_error.h"

namespace portcullis::api {

class RepeatedValue {
 public:
  explicit RepeatedValue(const BadValue& whole) : whole_(whole.text()) {}

  BadValue Next() {
    constexpr std::size_t kMost = 4 << 20;
    constexpr std::size_t kCut = 64;
    const bool whole = whole_.size() <= kCut || quoted_ + whole_.size() <= kMost;
    quoted_ += whole_.size();
    return BadValue::Raw(whole ? whole_ : whole_.substr(0, Boundary(kCut)) + "...");
  }

 private:
  // Of the character that holds the byte.
  std::size_t Boundary(std::size_t at) const {
    while (at > 0 && (static_cast<unsigned char>(whole_[at]) & 0xC0U) == 0x80U) --at;
    return at;
  }

  const std::string whole_;
  std::size_t quoted_ = 0;
};

}  // namespace portcullis::api
