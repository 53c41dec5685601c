// SPDX-License-Identifier: Apache-2.0

// A unified diff of two texts with three lines of context and no file names, byte for byte as
// kube-apiserver prints it in errors (k8s.io/apimachinery/pkg/util/diff, which uses go-difflib).
//
// go-difflib matches lines by Ratcliff and Obershelp: the longest block of equal lines, the
// earliest in the old text if there are several, then the same to its left and to its right. Lines
// that are more than 1 % of a new text of 200 lines or more begin no block; they only extend one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace portcullis::registry {

// Lines old[old_line, old_line + size) equal lines new[new_line, new_line + size).
struct MatchingBlock {
  std::uint32_t old_line;
  std::uint32_t new_line;
  std::uint32_t size;
};

// Pairs of equal lines that are looked at before the matching becomes coarser: any two texts of
// 14,000 lines have fewer.
inline constexpr std::size_t kDiffPairs = 2'000'000;

// The blocks in ascending order, adjacent ones joined. Time O((n + p) log (n + p)) and memory
// O(n + p), where n is the number of lines and p <= max(pairs, n). Texts with more pairs of equal
// lines get a correct but coarser matching: the lines that occur most often begin no block.
std::vector<MatchingBlock> MatchLines(const std::vector<std::string_view>& before,
                                      const std::vector<std::string_view>& after,
                                      std::size_t pairs = kDiffPairs);

// "" if the texts are equal. Limits as MatchLines has them.
std::string UnifiedDiff(std::string_view before, std::string_view after);

}  // namespace portcullis::registry
