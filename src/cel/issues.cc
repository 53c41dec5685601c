#include "cel/issues.h"

#include <algorithm>

#include "base/gotext.h"
#include "cel/syntax/ast.h"

namespace portcullis::cel {
namespace {

constexpr std::size_t kMaxPrinted = 100;

// East Asian wide and fullwidth characters, as far as snippets need them (Unicode UAX #11).
bool IsWide(char32_t c) {
  return (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0x303E) ||
         (c >= 0x3041 && c <= 0x33FF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0xA000 && c <= 0xA4CF) ||
         (c >= 0xA960 && c <= 0xA97F) || (c >= 0xAC00 && c <= 0xD7A3) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFE30 && c <= 0xFE6F) ||
         (c >= 0xFF00 && c <= 0xFF60) || (c >= 0xFFE0 && c <= 0xFFE6) ||
         (c >= 0x1F300 && c <= 0x1F64F) || (c >= 0x1F680 && c <= 0x1F6FF) ||
         (c >= 0x1F900 && c <= 0x1F9FF) || (c >= 0x20000 && c <= 0x3FFFD);
}

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
  out += "ERROR: <input>:" + std::to_string(issue.position.line) + ":" +
         std::to_string(issue.position.column + 1) + ": " + issue.message;
  if (issue.position.line < 1) return;
  const std::string_view line = LineOf(source, issue.position.line);
  out += "\n | ";
  for (const char c : line) out += c == '\t' ? ' ' : c;
  out += "\n | ";
  std::size_t at = 0;
  for (int column = 0; column < issue.position.column && at < line.size(); ++column) {
    std::size_t size = 1;
    out += IsWide(base::DecodeRune(line.substr(at), size)) ? "．" : ".";
    at += size;
  }
  std::size_t size = 1;
  const bool wide = at < line.size() && IsWide(base::DecodeRune(line.substr(at), size));
  out += wide ? "＾" : "^";
}

}  // namespace

Position PositionOf(std::string_view source, std::int32_t offset) {
  if (offset < 0) return {};
  Position position{1, 0};
  const auto end = std::min(static_cast<std::size_t>(offset), source.size());
  for (std::size_t at = 0; at < end;) {
    if (source[at] == '\n') {
      ++position.line;
      position.column = 0;
      ++at;
      continue;
    }
    std::size_t size = 1;
    base::DecodeRune(source.substr(at), size);
    at += size;
    ++position.column;
  }
  return position;
}

std::string Issues::ToString() const {
  std::vector<const Issue*> sorted;
  sorted.reserve(issues_.size());
  for (const Issue& issue : issues_) sorted.push_back(&issue);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Issue* a, const Issue* b) {
    if (a->position.line != b->position.line) return a->position.line < b->position.line;
    return a->position.column < b->position.column;
  });
  std::string out;
  for (std::size_t i = 0; i < sorted.size() && i < kMaxPrinted; ++i) {
    if (i > 0) out += '\n';
    AppendIssue(source_, *sorted[i], out);
  }
  if (sorted.size() > kMaxPrinted) {
    out += "\n" + std::to_string(sorted.size() - kMaxPrinted) + " more errors were truncated";
  }
  return out;
}

}  // namespace portcullis::cel
