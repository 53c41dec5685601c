// SPDX-License-Identifier: Apache-2.0

// GitLab's code quality report (docs.gitlab.com/ci/testing/code_quality): an entry for each failure and
// warning. The fingerprint says which entry of an earlier report is the same; within a report each has its
// own.
#include <algorithm>
#include <map>

#include "base/digest.h"
#include "base/strings.h"
#include "json/writer.h"
#include "offline/report/format.h"

namespace portcullis::offline {
namespace {

class GitlabReport {
 public:
  explicit GitlabReport(json::Arena& arena) : arena_(arena), entries_(arena) {}

  void Add(std::string_view severity, std::string_view check, std::string_view message,
           const Location& place) {
    std::string identity = base::StrCat(place.file, "\n", check, "\n", message);
    const std::size_t before = known_[identity]++;
    if (before > 0) identity += base::StrCat("\n", std::to_string(before));
    const auto line = static_cast<std::int64_t>(std::max<std::size_t>(place.line, 1));
    entries_.Add(json::ObjectBuilder(arena_)
                     .Set("description", message)
                     .Set("check_name", check)
                     .Set("fingerprint", base::Sha256Hex(identity))
                     .Set("severity", severity)
                     .Set("location",
                          json::ObjectBuilder(arena_)
                              .Set("path", place.file)
                              .Set("lines", json::ObjectBuilder(arena_).Set("begin", line).Build())
                              .Build())
                     .Build());
  }

  json::Value Build() { return entries_.Build(); }

 private:
  json::Arena& arena_;
  json::ArrayBuilder entries_;
  std::map<std::string, std::size_t> known_;  // how often each identity was met
};

}  // namespace

std::string WriteGitlab(const Report& report, const FormatOptions&) {
  json::Arena arena;
  GitlabReport out(arena);
  for (const Problem& problem : report.problems) {
    out.Add("blocker", "reading", problem.message, problem.place);
  }
  for (const Result& result : report.results) {
    for (const Failure& failure : result.failures) {
      out.Add("major", failure.source, failure.message, failure.place);
    }
    if (result.is_case) continue;
    if (!result.rule.empty()) {
      out.Add(result.is_info ? "info" : "minor", result.rule, result.message, result.place);
      continue;
    }
    for (const std::string& warning : result.warnings) {
      out.Add("minor", "warning", warning, result.place);
    }
  }
  return json::ToString(out.Build(), {.escape_html = false, .indent = 2}) + "\n";
}

}  // namespace portcullis::offline
