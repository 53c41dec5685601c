// SPDX-License-Identifier: Apache-2.0

// Issues: what is wrong with an expression, with positions, printed as cel-go does.
//
//   ERROR: <input>:1:1: undeclared reference to 'x' (in container '')
//    | x + 1
//    | ^
//
// "The expression is wrong" is this; "this value is an error" is a cel::Value; "the engine failed"
// is a base::Status.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace portcullis::cel {

// Line from 1, column in code points from 0, as cel-go counts. line < 0: unknown.
struct Position {
  int line = -1;
  int column = -1;
};

// Where a byte offset is, in cel-go's counting.
Position PositionOf(std::string_view source, std::int32_t offset);

// The same for many offsets of one source: each costs the way from the one before it, if it lies
// behind that. Confined to one thread; the source outlives it.
class Positions {
 public:
  explicit Positions(std::string_view source) : source_(source) {}
  Position Of(std::int32_t offset);

 private:
  const std::string_view source_;
  std::size_t at_ = 0;
  Position position_{1, 0};  // of at_
};

struct Issue {
  Position position;
  std::string message;
};

class Issues {
 public:
  bool empty() const { return issues_.empty(); }
  std::size_t size() const { return issues_.size(); }
  const std::vector<Issue>& list() const { return issues_; }
  void Add(Position position, std::string message) {
    issues_.push_back({position, std::move(message)});
  }
  void set_source(std::string_view source) { source_ = source; }
  template <typename Predicate>
  void EraseIf(Predicate predicate) {
    std::erase_if(issues_, predicate);
  }
  // Keeps the first ones by position.
  void Truncate(std::size_t count);

  // All issues in order of position, with their source lines, joined by newlines. At most 100 are
  // printed, then `%d more errors were truncated`.
  std::string ToString() const;

 private:
  std::string source_;
  std::vector<Issue> issues_;
};

}  // namespace portcullis::cel
