// SPDX-License-Identifier: Apache-2.0

// GitLab's code quality report (docs.gitlab.com/ci/testing/code_quality): an entry for each failure and
// warning. The fingerprint says which entry of an earlier report is the same.
#include <algorithm>

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
    const std::string identity = base::StrCat(place.file, "\n", check, "\n", message);
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
    for (const std::string& warning : result.warnings) {
      out.Add("minor", "warning", warning, result.place);
    }
  }
  return json::ToString(out.Build(), {.escape_html = false, .indent = 2}) + "\n";
}

}  // namespace portcullis::offline
