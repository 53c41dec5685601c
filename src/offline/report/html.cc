// SPDX-License-Identifier: Apache-2.0

// One page that needs nothing else: no scripts, no other files.
#include "base/strings.h"
#include "offline/report/format.h"

namespace portcullis::offline {
namespace {

constexpr std::string_view kHead = R"html(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>portcullis</title>
<style>
:root { color-scheme: light dark; --line: #8884; --bad: #c62828; --good: #2e7d32; --warn: #b26a00; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
td, th { border-bottom: 1px solid var(--line); padding: .4rem .6rem; text-align: left; vertical-align: top; }
code { font: 13px/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
.bad { color: var(--bad); } .good { color: var(--good); } .warn { color: var(--warn); }
p { margin: .2rem 0; }
</style></head><body>
)html";

std::string Place(const Location& place) {
  return base::StrCat("<code>", XmlText(place.ToString()), "</code>");
}

std::string Row(std::string_view style, std::string_view verdict, const std::string& place,
                std::string_view name, const std::string& texts) {
  return base::StrCat("<tr><td class=\"", style, "\">", verdict, "</td><td>", place, "</td><td>",
                      XmlText(name), "</td><td>", texts, "</td></tr>\n");
}

std::string TextsOf(const Result& result) {
  std::string out;
  for (const Failure& failure : result.failures) {
    out += base::StrCat("<p>", Place(failure.place), " ", XmlText(failure.message), "</p>");
    if (!failure.rule.file.empty()) {
      out += base::StrCat("<p>rule ", Place(failure.rule), " <code>", XmlText(failure.expression),
                          "</code></p>");
    }
    if (!failure.advice.empty()) out += base::StrCat("<p>", XmlText(failure.advice), "</p>");
  }
  for (const std::string& warning : result.warnings) {
    out += base::StrCat("<p class=\"warn\">", XmlText(warning), "</p>");
  }
  return out;
}

}  // namespace

std::string WriteHtml(const Report& report, const FormatOptions&) {
  std::string out =
      base::StrCat(kHead, "<h1>", XmlText(SummaryOf(report)), "</h1>\n<table>\n<tr><th>",
                   "verdict</th><th>place</th><th>object</th><th>why</th></tr>\n");
  for (const Problem& problem : report.problems) {
    out += Row("bad", "error", Place(problem.place), "", XmlText(problem.message));
  }
  for (const Result& result : report.results) {
    const std::string_view style = IsRefusal(result.verdict)          ? "bad"
                                   : result.verdict == Verdict::kSkip ? "warn"
                                                                      : "good";
    out += Row(style, VerdictText(result.verdict), Place(result.place), NameOf(result),
               TextsOf(result));
  }
  return out + "</table>\n</body></html>\n";
}

}  // namespace portcullis::offline
