// SPDX-License-Identifier: Apache-2.0

#include "offline/report/format.h"

#include "base/strings.h"

namespace portcullis::offline {
namespace {

constexpr Format kFormats[] = {
    {"table", "for people", &WriteTable},
    {"json", "one document", &WriteJson},
    {"yaml", "the same as YAML", &WriteYaml},
    {"junit", "JUnit XML: a test case for each manifest", &WriteJunit},
    {"sarif", "SARIF 2.1.0, for code scanning", &WriteSarif},
    {"github", "annotations of GitHub Actions", &WriteGithub},
    {"tap", "Test Anything Protocol 13", &WriteTap},
    {"markdown", "a table for summaries and comments", &WriteMarkdown},
    {"azuredevops", "logging commands of Azure Pipelines", &WriteAzureDevops},
    {"gitlab", "GitLab's code quality report", &WriteGitlab},
    {"html", "one page", &WriteHtml},
};

std::string Counted(std::size_t count, std::string_view what) {
  return base::StrCat(", ", std::to_string(count), " ", what);
}

}  // namespace

std::span<const Format> Formats() { return kFormats; }

const Format* FindFormat(std::string_view name) {
  for (const Format& format : kFormats) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

std::string NameOf(const Result& result) {
  if (result.is_case) return result.name;
  const std::string_view what = result.resource.empty() ? result.kind : result.resource;
  std::string text = base::StrCat(what, "/", result.name);
  if (!result.ns.empty()) text += base::StrCat(" -n ", result.ns);
  return text;
}

std::string OneLine(std::string_view text) {
  std::string out;
  for (const std::string_view line : base::Split(text, '\n')) {
    const std::string_view trimmed = base::Trim(line);
    if (!out.empty() && !trimmed.empty()) out += " ";
    out += trimmed;
  }
  return out;
}

std::string SummaryOf(const Report& report) {
  const std::size_t total = report.results.size();
  const std::size_t passed = report.Count(Verdict::kPass);
  const std::size_t failed = report.Count(Verdict::kFail);
  std::string text = std::to_string(total);
  const bool are_cases = total > 0 && report.results.front().is_case;
  if (are_cases) {
    text += base::StrCat(total == 1 ? " case: " : " cases: ", std::to_string(passed), " passed",
                         Counted(failed, "failed"));
  } else {
    text += base::StrCat(
        total == 1 ? " manifest: " : " manifests: ", std::to_string(report.Count(Verdict::kAllow)),
        " allowed", Counted(report.Count(Verdict::kDeny), "denied"));
  }
  if (const std::size_t count = report.Count(Verdict::kError); count > 0) {
    text += Counted(count, count == 1 ? "with an error" : "with errors");
  }
  if (const std::size_t count = report.Count(Verdict::kSkip); count > 0) {
    text += Counted(count, "not judged");
  }
  if (const std::size_t count = report.warnings(); count > 0) {
    text += Counted(count, count == 1 ? "warning" : "warnings");
  }
  if (const std::size_t count = report.problems.size(); count > 0) {
    text += Counted(count, count == 1 ? "problem in the files" : "problems in the files");
  }
  return text;
}

}  // namespace portcullis::offline
