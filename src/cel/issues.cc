// SPDX-License-Identifier: Apache-2.0

#include "cel/issues.h"

#include <algorithm>

#include "base/gotext.h"

namespace portcullis::cel {
namespace {

constexpr std::size_t kMaxPrinted = 100;

// Longer lines are not shown.
constexpr std::size_t kMaxLine = 16384;

std::string_view LineOf(std::string_view source, int line) {
  while (line > 1) {
    const auto end = source.find('\n');
    if (end == std::string_view::npos) return {};
    source.remove_prefix(end + 1);
    --line;
  }
  return source.substr(0, source.find('\n'));
}

void AppendIssue(std::string_view source, const Issue& issue, std::string& out) {
  // An empty source has no place that could be shown.
  const int column = source.empty() ? 0 : issue.position.column + 1;
  out += "ERROR: <input>:" + std::to_string(issue.position.line) + ":" + std::to_string(column) +
         ": " + issue.message;
  if (issue.position.line < 1 || source.empty()) return;
  const std::string_view line = LineOf(source, issue.position.line);
  if (line.size() > kMaxLine) return;
  // Below a character of several bytes stands a wide mark.
  std::string shown;
  std::string marks;
  int at_column = 0;
  for (std::size_t at = 0; at < line.size(); ++at_column) {
    std::size_t size = 1;
    const char32_t rune = base::DecodeRune(line.substr(at), size);
    const bool valid = rune != 0xFFFD || size > 1;
    const bool wide = size > 1 || !valid;
    if (!valid) {
      shown += "\uFFFD";
    } else if (line[at] == '\t') {
      shown += ' ';
    } else {
      shown += line.substr(at, size);
    }
    if (at_column < issue.position.column) marks += wide ? "．" : ".";
    if (at_column == issue.position.column) marks += wide ? "＾" : "^";
    at += size;
  }
  if (at_column <= issue.position.column) marks += '^';
  out += "\n | " + shown + "\n | " + marks;
}

}  // namespace

Position PositionOf(std::string_view source, std::int32_t offset) {
  return Positions(source).Of(offset);
}

Position Positions::Of(std::int32_t offset) {
  if (offset < 0) return {};
  const auto end = std::min(static_cast<std::size_t>(offset), source_.size());
  if (end < at_) {
    at_ = 0;
    position_ = {1, 0};
  }
  while (at_ < end) {
    if (source_[at_] == '\n') {
      ++position_.line;
      position_.column = 0;
      ++at_;
      continue;
    }
    std::size_t size = 1;
    base::DecodeRune(source_.substr(at_), size);
    at_ += size;
    ++position_.column;
  }
  return position_;
}

void Issues::Truncate(std::size_t count) {
  std::stable_sort(issues_.begin(), issues_.end(), [](const Issue& a, const Issue& b) {
    if (a.position.line != b.position.line) return a.position.line < b.position.line;
    return a.position.column < b.position.column;
  });
  if (issues_.size() > count) issues_.resize(count);
}

std::string Issues::ToString() const {
  std::vector<const Issue*> sorted;
  sorted.reserve(issues_.size());
  // What was reported first counts, not what stands first.
  const std::size_t count = std::min(issues_.size(), kMaxPrinted);
  for (std::size_t i = 0; i < count; ++i) sorted.push_back(&issues_[i]);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Issue* a, const Issue* b) {
    if (a->position.line != b->position.line) return a->position.line < b->position.line;
    return a->position.column < b->position.column;
  });
  std::string out;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i > 0) out += '\n';
    AppendIssue(source_, *sorted[i], out);
  }
  if (issues_.size() > kMaxPrinted) {
    out += "\n" + std::to_string(issues_.size() - kMaxPrinted) + " more errors were truncated";
  }
  return out;
}

}  // namespace portcullis::cel
