// SPDX-License-Identifier: Apache-2.0

// Objects that repeat a key, as ParseOptions::keep_duplicates reads them.
//
// What Go makes of them depends on what it decodes into: into untyped content, the last value wins
// (LastOfDuplicates); into Go types, values are merged (api/schema/merge_duplicates.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "json/value.h"

namespace portcullis::json {

// The most errors that Kubernetes' strict decoding reports of one document.
inline constexpr std::size_t kMaxStrictErrors = 100;

// The document with one member per name: at the place of the first, with the value of the last.
Value LastOfDuplicates(Arena& arena, Value value);

// Appends the path of each repeated key as strict decoding into untyped content prints it,
// `spec.containers[0].name`: in the order of the text, each path once, at most kMaxStrictErrors.
void DuplicatePaths(Value value, std::vector<std::string>& paths);

// Where a walk through a document is, as strict decoding prints it, and which places it has reported.
// A place is told by a hash, so that a step costs its own length however deep the document is.
class StrictPath {
 public:
  struct Mark {
    std::size_t size;
    std::uint64_t hash;
  };
  Mark Push(std::string_view name);
  Mark PushIndex(std::size_t index);
  void Return(Mark mark);

  // Whether the place is to be reported: it has not been, and there have not been too many.
  bool Report() { return !full() && reported_.insert(hash_).second; }
  bool full() const { return reported_.size() >= kMaxStrictErrors; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::uint64_t hash_ = 0;
  std::unordered_set<std::uint64_t> reported_;
};

namespace internal {

// For each member the position of the first one of its name. Empty if all names are distinct.
std::vector<std::uint32_t> FirstOfEachName(std::span<const Member> members);
// Moves one member per name to the front, in the order of their first places and with their last
// values; returns how many there are. REQUIRES: `first_of` is FirstOfEachName(members).
std::size_t KeepLast(std::span<Member> members, std::span<const std::uint32_t> first_of);

}  // namespace internal
}  // namespace portcullis::json
