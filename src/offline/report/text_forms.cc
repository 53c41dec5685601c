// SPDX-License-Identifier: Apache-2.0

// Short text forms: annotations of GitHub Actions and of Azure Pipelines, TAP, Markdown.
#include "base/strings.h"
#include "offline/report/format.h"

namespace portcullis::offline {
namespace {

// Escaping of workflow commands (github.com/actions/toolkit, command.ts).
std::string GithubText(std::string_view text) {
  std::string out = base::ReplaceAll(text, "%", "%25");
  out = base::ReplaceAll(out, "\r", "%0D");
  return base::ReplaceAll(out, "\n", "%0A");
}

std::string GithubProperty(std::string_view text) {
  return base::ReplaceAll(base::ReplaceAll(GithubText(text), ":", "%3A"), ",", "%2C");
}

std::string GithubLine(std::string_view level, const Location& place, std::string_view title,
                       std::string_view message) {
  std::string out = base::StrCat("::", level, " file=", GithubProperty(place.file));
  if (place.line != 0) out += base::StrCat(",line=", std::to_string(place.line));
  if (place.column != 0) out += base::StrCat(",col=", std::to_string(place.column));
  if (!title.empty()) out += base::StrCat(",title=", GithubProperty(title));
  return out + base::StrCat("::", GithubText(message), "\n");
}

// Escaping of logging commands (github.com/microsoft/azure-pipelines-task-lib).
std::string AzureText(std::string_view text) {
  std::string out = base::ReplaceAll(text, "%", "%AZP25");
  out = base::ReplaceAll(out, "\r", "%0D");
  return base::ReplaceAll(out, "\n", "%0A");
}

std::string AzureProperty(std::string_view text) {
  return base::ReplaceAll(base::ReplaceAll(AzureText(text), "]", "%5D"), ";", "%3B");
}

std::string AzureLine(std::string_view level, const Location& place, std::string_view code,
                      std::string_view message) {
  std::string out = base::StrCat("##vso[task.logissue type=", level,
                                 ";sourcepath=", AzureProperty(place.file), ";");
  if (place.line != 0) out += base::StrCat("linenumber=", std::to_string(place.line), ";");
  if (place.column != 0) out += base::StrCat("columnnumber=", std::to_string(place.column), ";");
  return out + base::StrCat("code=", AzureProperty(code), "]", AzureText(message), "\n");
}

// A cell of a Markdown table.
std::string Cell(std::string_view text) {
  return base::ReplaceAll(base::ReplaceAll(text, "|", "\\|"), "\n", "<br>");
}

std::string YamlText(std::string_view text) {
  return base::StrCat("'", base::ReplaceAll(base::ReplaceAll(text, "\n", " "), "'", "''"), "'");
}

}  // namespace

std::string WriteGithub(const Report& report, const FormatOptions&) {
  std::string out;
  for (const Problem& problem : report.problems) {
    out += GithubLine("error", problem.place, "", problem.message);
  }
  for (const Result& result : report.results) {
    for (const Failure& failure : result.failures) {
      out += GithubLine("error", failure.place, failure.source, failure.message);
    }
    if (result.is_case) continue;
    for (const std::string& warning : result.warnings) {
      out += GithubLine("warning", result.place, NameOf(result), warning);
    }
  }
  return out;
}

std::string WriteAzureDevops(const Report& report, const FormatOptions&) {
  std::string out;
  for (const Problem& problem : report.problems) {
    out += AzureLine("error", problem.place, "reading", problem.message);
  }
  for (const Result& result : report.results) {
    for (const Failure& failure : result.failures) {
      out += AzureLine("error", failure.place, failure.source, failure.message);
    }
    if (result.is_case) continue;
    for (const std::string& warning : result.warnings) {
      out += AzureLine("warning", result.place, NameOf(result), warning);
    }
  }
  return out;
}

std::string WriteTap(const Report& report, const FormatOptions&) {
  std::string out = base::StrCat(
      "TAP version 13\n1..", std::to_string(report.problems.size() + report.results.size()), "\n");
  std::size_t number = 0;
  for (const Problem& problem : report.problems) {
    out += base::StrCat("not ok ", std::to_string(++number), " - ", problem.place.ToString(),
                        "\n  ---\n  message: ", YamlText(problem.message), "\n  ...\n");
  }
  for (const Result& result : report.results) {
    const bool refused = IsRefusal(result.verdict);
    out += base::StrCat(refused ? "not ok " : "ok ", std::to_string(++number), " - ",
                        result.place.ToString(), " ", NameOf(result),
                        result.verdict == Verdict::kSkip ? " # SKIP not judged" : "", "\n");
    if (result.failures.empty()) continue;
    out += "  ---\n  failures:\n";
    for (const Failure& failure : result.failures) {
      out += base::StrCat("  - message: ", YamlText(failure.message),
                          "\n    source: ", YamlText(failure.source),
                          "\n    at: ", YamlText(failure.place.ToString()), "\n");
    }
    out += "  ...\n";
  }
  return out;
}

std::string WriteMarkdown(const Report& report, const FormatOptions&) {
  std::string out = base::StrCat("**", SummaryOf(report), "**\n");
  std::string rows;
  for (const Problem& problem : report.problems) {
    rows += base::StrCat("| error | `", problem.place.ToString(), "` | | ", Cell(problem.message),
                         " |\n");
  }
  for (const Result& result : report.results) {
    for (const Failure& failure : result.failures) {
      rows += base::StrCat("| ", VerdictText(result.verdict), " | `", failure.place.ToString(),
                           "` | `", Cell(NameOf(result)), "` | ", Cell(failure.message), " |\n");
    }
    if (result.is_case) continue;
    for (const std::string& warning : result.warnings) {
      rows += base::StrCat("| warning | `", result.place.ToString(), "` | `", Cell(NameOf(result)),
                           "` | ", Cell(warning), " |\n");
    }
  }
  if (!rows.empty())
    out += base::StrCat("\n| verdict | place | object | message |\n|---|---|---|---|\n", rows);
  return out;
}

}  // namespace portcullis::offline
