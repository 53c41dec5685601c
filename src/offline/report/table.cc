// SPDX-License-Identifier: Apache-2.0

// The form for people: a paragraph for each manifest that was refused or warned of, places first so
// that terminals and editors can jump to them.
#include "base/strings.h"
#include "offline/report/format.h"

namespace portcullis::offline {
namespace {

class Table {
 public:
  Table(const Report& report, const FormatOptions& options) : report_(report), options_(options) {}

  std::string Write() {
    for (const Problem& problem : report_.problems) {
      Add(base::StrCat(problem.place.ToString(), ": ", Colored("ERROR", kRed), " ",
                       problem.message));
    }
    for (const Result& result : report_.results) Show(result);
    for (const std::string& note : report_.notes) Add(base::StrCat("note: ", note));
    if (!out_.empty()) out_ += "\n";
    Add(SummaryOf(report_));
    return std::move(out_);
  }

 private:
  static constexpr std::string_view kRed = "31";
  static constexpr std::string_view kGreen = "32";
  static constexpr std::string_view kYellow = "33";

  void Add(std::string_view line) { out_ += base::StrCat(line, "\n"); }

  std::string Colored(std::string_view text, std::string_view color) const {
    if (!options_.color) return std::string(text);
    return base::StrCat("\x1b[", color, "m", text, "\x1b[0m");
  }

  void Show(const Result& result) {
    const bool fine = result.verdict == Verdict::kAllow || result.verdict == Verdict::kPass;
    const bool quiet =
        fine && (result.is_case || (result.warnings.empty() && result.webhooks_not_called.empty()));
    if ((quiet || result.verdict == Verdict::kSkip) && !options_.verbose) return;
    std::string verdict = base::ToUpper(VerdictText(result.verdict));
    const bool refused = IsRefusal(result.verdict);
    Add(base::StrCat(result.place.ToString(), ": ", Colored(verdict, refused ? kRed : kGreen), " ",
                     NameOf(result)));
    for (const Failure& failure : result.failures) Show(failure, result);
    for (const std::string& warning : result.warnings) {
      Add(base::StrCat("    ", Colored("warning", kYellow), ": ", warning));
    }
    for (const std::string& webhook : result.webhooks_not_called) {
      Add(base::StrCat("    webhook not called: ", webhook));
    }
  }

  void Show(const Failure& failure, const Result& result) {
    Add(base::StrCat("  ", failure.place.ToString(), ": ", failure.message));
    std::string source = failure.source;
    if (!failure.subject.empty()) source += base::StrCat(", ", failure.subject);
    if (!failure.path.empty()) source += base::StrCat(", ", failure.path);
    Add(base::StrCat("      by ", source));
    if (!failure.rule.file.empty()) {
      Add(base::StrCat(
          "      rule ", failure.rule.ToString(),
          failure.expression.empty() ? "" : base::StrCat(": ", OneLine(failure.expression))));
    }
    if (!failure.advice.empty()) Add(base::StrCat("      hint: ", failure.advice));
    static_cast<void>(result);
  }

  const Report& report_;
  const FormatOptions& options_;
  std::string out_;
};

}  // namespace

std::string WriteTable(const Report& report, const FormatOptions& options) {
  return Table(report, options).Write();
}

}  // namespace portcullis::offline
