// SPDX-License-Identifier: Apache-2.0

// The matching of Ratcliff and Obershelp as its definition says it, and as slowly: the reference
// that MatchLines is compared with.
//
// Python docs, difflib.SequenceMatcher: the longest block of equal elements without "junk", of all
// maximal ones the one that starts earliest in the first sequence, of those the one that starts
// earliest in the second; then the same for the pieces left and right of it. Elements that are more
// than 1 % of a second sequence of 200 or more are "popular": they only extend a block.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "registry/validation/unified_diff.h"

namespace portcullis::registry::testing {

class SlowMatcher {
 public:
  SlowMatcher(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b)
      : a_(a), b_(b) {
    Match(0, size(a), 0, size(b));
  }

  // Adjacent blocks joined.
  std::vector<MatchingBlock> blocks;

 private:
  using Line = std::uint32_t;
  static Line size(const std::vector<std::string_view>& lines) {
    return static_cast<Line>(lines.size());
  }

  bool IsPopular(std::string_view line) const {
    const auto count = static_cast<std::size_t>(std::count(b_.begin(), b_.end(), line));
    return b_.size() >= 200 && count > b_.size() / 100 + 1;
  }

  MatchingBlock Longest(Line a_begin, Line a_end, Line b_begin, Line b_end) const {
    MatchingBlock best{a_begin, b_begin, 0};
    for (Line i = a_begin; i < a_end; ++i) {
      for (Line j = b_begin; j < b_end; ++j) {
        Line length = 0;
        while (i + length < a_end && j + length < b_end && a_[i + length] == b_[j + length] &&
               !IsPopular(b_[j + length])) {
          ++length;
        }
        if (length > best.size) best = {i, j, length};
      }
    }
    return best;
  }

  void Match(Line a_begin, Line a_end, Line b_begin, Line b_end) {
    if (a_begin == a_end || b_begin == b_end) return;
    MatchingBlock best = Longest(a_begin, a_end, b_begin, b_end);
    while (best.old_line > a_begin && best.new_line > b_begin &&
           a_[best.old_line - 1] == b_[best.new_line - 1]) {
      best = {best.old_line - 1, best.new_line - 1, best.size + 1};
    }
    while (best.old_line + best.size < a_end && best.new_line + best.size < b_end &&
           a_[best.old_line + best.size] == b_[best.new_line + best.size]) {
      ++best.size;
    }
    if (best.size == 0) return;
    Match(a_begin, best.old_line, b_begin, best.new_line);
    if (!blocks.empty() && blocks.back().old_line + blocks.back().size == best.old_line &&
        blocks.back().new_line + blocks.back().size == best.new_line) {
      blocks.back().size += best.size;
    } else {
      blocks.push_back(best);
    }
    Match(best.old_line + best.size, a_end, best.new_line + best.size, b_end);
  }

  const std::vector<std::string_view>& a_;
  const std::vector<std::string_view>& b_;
};

}  // namespace portcullis::registry::testing
