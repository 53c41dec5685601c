// SPDX-License-Identifier: Apache-2.0

// JUnit XML as CI systems read it: a suite for the run, a case for each manifest.
#include "base/strings.h"
#include "offline/report/format.h"

namespace portcullis::offline {
namespace {

void AddCase(const Result& result, std::string& out) {
  out += base::StrCat("    <testcase classname=\"", XmlText(result.place.file), "\" name=\"",
                      XmlText(NameOf(result)), "\" file=\"", XmlText(result.place.file),
                      "\" line=\"", std::to_string(result.place.line), "\"");
  if (result.failures.empty() && result.warnings.empty() && result.verdict != Verdict::kSkip) {
    out += "/>\n";
    return;
  }
  out += ">\n";
  if (result.verdict == Verdict::kSkip) out += "      <skipped message=\"not judged\"/>\n";
  const std::string_view element = result.verdict == Verdict::kError ? "error" : "failure";
  for (const Failure& failure : result.failures) {
    out += base::StrCat("      <", element, " type=\"", XmlText(failure.source), "\" message=\"",
                        XmlText(failure.message), "\">", XmlText(failure.place.ToString()), ": ",
                        XmlText(failure.message), "</", element, ">\n");
  }
  if (!result.warnings.empty()) {
    out += base::StrCat("      <system-out>", XmlText(base::Join(result.warnings, "\n")),
                        "</system-out>\n");
  }
  out += "    </testcase>\n";
}

}  // namespace

std::string XmlText(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\t') out += c;
    }
  }
  return out;
}

std::string WriteJunit(const Report& report, const FormatOptions&) {
  const std::string counts = base::StrCat(
      "tests=\"", std::to_string(report.results.size() + report.problems.size()), "\" failures=\"",
      std::to_string(report.Count(Verdict::kDeny) + report.Count(Verdict::kFail)), "\" errors=\"",
      std::to_string(report.Count(Verdict::kError) + report.problems.size()), "\" skipped=\"",
      std::to_string(report.Count(Verdict::kSkip)), "\"");
  std::string out = base::StrCat("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites ", counts,
                                 ">\n  <testsuite name=\"portcullis test\" ", counts, ">\n");
  for (const Problem& problem : report.problems) {
    out += base::StrCat("    <testcase classname=\"", XmlText(problem.place.file),
                        "\" name=\"reading\">\n      <error message=\"", XmlText(problem.message),
                        "\">", XmlText(problem.place.ToString()), ": ", XmlText(problem.message),
                        "</error>\n    </testcase>\n");
  }
  for (const Result& result : report.results) AddCase(result, out);
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace portcullis::offline
