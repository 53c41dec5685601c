// Issues: what is wrong with an expression, with positions, printed as cel-go does.
//
//   ERROR: <input>:1:1: undeclared reference to 'x' (in container '')
//    | x + 1
//    | ^
//
// "The expression is wrong" is this; "this value is an error" is a cel::Value; "the engine failed"
// is a base::Status.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace portcullis::cel {

// Line from 1, column in code points from 0, as cel-go counts. line < 0: unknown.
struct Position {
  int line = -1;
  int column = -1;
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
