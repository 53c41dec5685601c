// SPDX-License-Identifier: Apache-2.0

// Lint: what is wrong with policies, bindings, webhook configurations and manifests that an API server
// takes all the same: webhooks that can block a cluster, rules that never match, expressions that fail for
// some objects.
//
//   # portcullis:ignore ID reason
// in the line of a finding, in the line above it, or above the object keeps the finding quiet.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "offline/inputs.h"
#include "offline/judge.h"
#include "offline/result.h"

namespace portcullis::offline {

enum class Severity : std::uint8_t { kError, kWarning, kInfo };

std::string_view SeverityText(Severity severity);  // "error"

class LintFacts;
class Findings;

// One kind of finding. The table of all is in lint.cc, one file for each in rules/.
struct LintRule {
  std::string_view id;  // "webhook-blocks-own-pods"
  Severity severity = Severity::kWarning;
  std::string_view title;   // what is found, half a sentence
  std::string_view reason;  // why it is wrong
  std::string_view mend;    // how to mend it
  void (*check)(const LintFacts& facts, Findings& findings);
  std::string_view fix = {};  // what --fix does; "": it leaves findings of this rule
};

std::span<const LintRule* const> LintRules();

struct Finding {
  const LintRule* rule = nullptr;
  const Manifest* manifest = nullptr;
  Location place;
  std::string message;
  // How --fix mends it: the value at these steps of the manifest is to be that. No arena: not at all.
  std::vector<std::string> fix_steps;
  json::Value fix;
  std::shared_ptr<json::Arena> fix_arena;
};

struct LintReport {
  std::vector<Finding> findings;  // in the order of files and lines
  std::vector<Problem> problems;  // what could not be read, and comments without a reason
  std::size_t files = 0;
  std::size_t ignored = 0;  // findings that a comment keeps quiet
};

// The inputs outlive the report. Errors are the user's: a flag's value.
base::Result<LintReport> Lint(const Inputs& inputs, const JudgeOptions& options);

// What --fix changes. Of several findings about one value the first; the others are found again when
// the files are read again.
std::vector<Correction> LintCorrections(const LintReport& report);

// As lines for people, and as the report of other forms (report/format.h): a result for each finding.
std::string LintAsText(const LintReport& report);
Report LintAsReport(const LintReport& report);
// docs/lint.md.
std::string LintRulesAsMarkdown();

}  // namespace portcullis::offline
