// SPDX-License-Identifier: Apache-2.0

// ListPiece: one piece of a list's answer while its items are appended: when it is full, and how much
// room it needs. Confined to its thread; `out` outlives it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

namespace portcullis::server::rest {

class ListPiece {
 public:
  explicit ListPiece(std::string& out) : out_(out), start_(out.size()) {}

  bool is_full() const { return out_.size() - start_ >= kSize; }

  // Before each item; `left` counts it and those behind it. Objects of a kind are much alike: a few
  // tell how much room the others need.
  void MakeRoom(std::size_t left) {
    if (items_++ != kSample) return;
    const std::size_t rest = (out_.size() - start_) / kSample * (left + 1);
    out_.reserve(std::min(start_ + kSize, out_.size() + rest) + kSlack);
  }

 private:
  static constexpr std::size_t kSlack = 16 * 1024;  // for the object that exceeds it
  // Room for a piece stays below what the allocator maps and unmaps page by page (1 MiB).
  static constexpr std::size_t kSize = 1000 * 1024 - kSlack;
  static constexpr std::size_t kSample = 8;

  std::string& out_;
  const std::size_t start_;
  std::size_t items_ = 0;
};

}  // namespace portcullis::server::rest
