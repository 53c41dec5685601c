// SPDX-License-Identifier: Apache-2.0

// What `portcullis lint` prints.
#include <set>
#include <utility>

#include "base/strings.h"
#include "offline/lint/lint.h"

namespace portcullis::offline {
namespace {

std::string Counted(std::size_t count, std::string_view one, std::string_view many) {
  return base::StrCat(std::to_string(count), " ", count == 1 ? one : many);
}

std::size_t Count(const LintReport& report, Severity severity) {
  std::size_t count = 0;
  for (const Finding& finding : report.findings)
    count += finding.rule->severity == severity ? 1 : 0;
  return count;
}

}  // namespace

std::string LintAsText(const LintReport& report) {
  std::string out;
  for (const Problem& problem : report.problems) {
    out += base::StrCat(problem.place.ToString(), ": ERROR ", problem.message, "\n");
  }
  // Why and how to mend it is told once.
  std::set<std::string_view> told;
  for (const Finding& finding : report.findings) {
    const LintRule& rule = *finding.rule;
    out += base::StrCat(finding.place.ToString(), ": ", SeverityText(rule.severity), " ", rule.id,
                        ": ", finding.message, "\n");
    if (!told.insert(rule.id).second) continue;
    out += base::StrCat("      why: ", rule.reason, "\n      mend: ", rule.mend, "\n");
  }
  if (!out.empty()) out += "\n";
  out += base::StrCat(Counted(report.files, "file: ", "files: "),
                      Counted(Count(report, Severity::kError), "error", "errors"), ", ",
                      Counted(Count(report, Severity::kWarning), "warning", "warnings"), ", ",
                      std::to_string(Count(report, Severity::kInfo)), " info");
  if (report.ignored > 0) out += base::StrCat(", ", std::to_string(report.ignored), " ignored");
  return out + "\n";
}

std::vector<Correction> LintCorrections(const LintReport& report) {
  std::vector<Correction> corrections;
  // One change of a document at a time: indexes of lists move.
  std::set<std::pair<const SourceText*, std::string>> known;
  for (const Finding& finding : report.findings) {
    const Manifest& manifest = *finding.manifest;
    if (finding.fix_arena == nullptr) continue;
    const std::string what = base::Join(finding.fix_steps, ".");
    const std::string object = base::Join(manifest.steps, ".");
    if (!known.emplace(manifest.source.get(), base::StrCat(object, " ", what)).second) continue;
    Correction correction;
    correction.source = manifest.source;
    correction.steps = manifest.steps;
    correction.was = manifest.object;
    for (const std::string& step : finding.fix_steps) {
      correction.steps.push_back(step);
      correction.was = correction.was[step];
    }
    correction.what = what;
    correction.place = finding.place;
    correction.name = base::StrCat(finding.rule->id, ": ", finding.message);
    correction.arena = finding.fix_arena;
    correction.document = manifest.arena;
    correction.now = finding.fix;
    corrections.push_back(std::move(correction));
  }
  return corrections;
}

Report LintAsReport(const LintReport& report) {
  Report out;
  out.problems = report.problems;
  out.files = report.files;
  for (const Finding& finding : report.findings) {
    const LintRule& rule = *finding.rule;
    Result& result = out.results.emplace_back();
    result.place = finding.place;
    result.api_version = finding.manifest->api_version;
    result.kind = finding.manifest->kind;
    result.ns = finding.manifest->ns;
    result.name = finding.manifest->name;
    result.operation = "LINT";
    result.code = 0;
    result.message = finding.message;
    if (rule.severity != Severity::kError) {
      result.warnings.push_back(base::StrCat(rule.id, ": ", finding.message));
      result.rule = rule.id;
      result.is_info = rule.severity == Severity::kInfo;
      continue;
    }
    result.verdict = Verdict::kFail;
    Failure failure;
    failure.source = rule.id;
    failure.message = finding.message;
    failure.place = finding.place;
    failure.advice = rule.mend;
    result.failures.push_back(std::move(failure));
  }
  return out;
}

std::string LintRulesAsMarkdown() {
  std::string out =
      "# What lint finds\n\n"
      "Printed by `portcullis lint --rules`. `portcullis lint PATH…` reads policies, bindings, "
      "webhook configurations and\n"
      "manifests, and tells which rules an API server refuses, and what it takes although it can "
      "block a cluster, never\n"
      "matches, or fails for some objects. An error ends with status 1.\n\n"
      "    # portcullis:ignore ID reason\n\n"
      "in the line of a finding, in the line above it, or above the object keeps it quiet; the "
      "reason has to be there.\n\n"
      "`portcullis lint --fix` mends what can be mended without a change of verdicts: it prints "
      "what "
      "it changes, writes\n"
      "the files, leaves all else in them as it is, and reports what is left. The rules below say "
      "what it does.\n\n"
      "| id | severity | finds |\n|---|---|---|\n";
  for (const LintRule* rule : LintRules()) {
    out += base::StrCat("| [", rule->id, "](#", rule->id, ") | ", SeverityText(rule->severity),
                        " | ", rule->title, " |\n");
  }
  for (const LintRule* rule : LintRules()) {
    out += base::StrCat("\n## ", rule->id, "\n\n", SeverityText(rule->severity), ": ", rule->title,
                        ".\n\n", rule->reason, "\n\nTo mend it: ", rule->mend, "\n");
    if (!rule->fix.empty()) out += base::StrCat("\n`--fix` ", rule->fix, ".\n");
  }
  return out;
}

}  // namespace portcullis::offline
