// SPDX-License-Identifier: Apache-2.0

#include "offline/lint/lint.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/clock.h"
#include "base/strings.h"
#include "engine/world.h"
#include "offline/cluster.h"
#include "offline/lint/facts.h"
#include "offline/lint/rules/rules.h"
#include "offline/lint/trials.h"

namespace portcullis::offline {
namespace {

constexpr const LintRule* kRules[] = {
    // First, for the second is quiet where it has found something.
    &kRuleIsRefused,
    &kExpressionFitsNoKind,
    &kWebhookBlocksOwnPods,
    &kWebhookBlocksKubeSystem,
    &kWebhookBlocksNodes,
    &kWebhookBlocksOwnRepair,
    &kWebhookWideRules,
    &kWebhookLongTimeout,
    &kWebhookTimeoutsAddUp,
    &kWebhookFailsOpen,
    &kSidecarFailsOpen,
    &kWebhookCertificate,
    &kWebhookCertificateExpires,
    &kWebhookSideEffects,
    &kWebhookMissingService,
    &kRuleNeverMatches,
    &kSelectorNeverMatches,
    &kPolicyNotBound,
    &kBindingWithoutPolicy,
    &kObjectIsNullOnDelete,
    &kOldObjectIsNullOnCreate,
    &kUnguardedLabels,
    &kNamespaceObjectInConditions,
    &kConstantValidation,
    &kRepeatedValidation,
    &kPolicyWideRules,
    &kPolicyFailsOpen,
    &kMissingParameterAllows,
    &kParameterNotUsed,
    &kPolicyBlocksKubeSystem,
    &kMutationWithoutParent,
    &kExpressionFails,
    &kExpressionOverBudget,
    &kExpressionMayExceedBudget,
    &kMutatorFails,
    &kMutatorDoesNotConverge,
    &kMutatorsDoNotCommute,
    &kMutatorsOfOneField,
    &kExactMatchPolicy,
    &kRemovedApiVersion,
    &kDeprecatedApiVersion,
    &kDeprecatedField,
};

// A comment `# portcullis:ignore ID reason` of a document.
struct Ignore {
  std::size_t line = 0;  // in the file
  bool of_all = false;   // it stands above the object
  std::string_view id;
  bool has_reason = false;
};

// The comments of one document, found once.
std::vector<Ignore> IgnoresOf(const SourceText& source) {
  constexpr std::string_view kMark = "portcullis:ignore";
  std::vector<Ignore> ignores;
  std::size_t line = source.line();
  bool above = true;
  for (const std::string_view text : base::Split(source.text(), '\n')) {
    const std::size_t hash = text.find('#');
    const std::string_view before = base::Trim(text.substr(0, std::min(hash, text.size())));
    above = above && (before.empty() || before == "---");
    const std::size_t at = text.find(kMark);
    if (hash != std::string_view::npos && at != std::string_view::npos && hash < at) {
      const std::string_view rest = base::Trim(text.substr(at + kMark.size()));
      const auto cut = base::Cut(rest, " ");
      ignores.push_back(
          {line, above, cut ? cut->first : rest, cut && !base::Trim(cut->second).empty()});
    }
    ++line;
  }
  return ignores;
}

class Linting {
 public:
  explicit Linting(const Inputs& inputs) : inputs_(inputs) {
    report_.problems = inputs.problems;
    report_.files = inputs.files;
  }

  base::Result<LintReport> Run(const JudgeOptions& options) {
    const auto cluster = TRY(Cluster::Create(options.cluster));
    for (const Manifest& manifest : inputs_.manifests) {
      if (manifest.kind != "CustomResourceDefinition") continue;
      static_cast<void>(cluster->Give(manifest.object, ""));
    }
    const auto catalog = cluster->world().catalog->Get();
    LintFacts facts(inputs_.manifests, *catalog, cluster->world().clock->Now(), options);
    const auto trials = TRY(Trials::Run(facts, inputs_, options));
    facts.set_trials(*trials);
    std::vector<Finding> found;
    for (const LintRule* rule : kRules) {
      Findings findings(*rule, found);
      rule->check(facts, findings);
    }
    for (Finding& finding : found) {
      if (IsIgnored(finding)) {
        ++report_.ignored;
      } else {
        report_.findings.push_back(std::move(finding));
      }
    }
    std::stable_sort(report_.findings.begin(), report_.findings.end(),
                     [](const Finding& a, const Finding& b) {
                       return std::tie(a.place.file, a.place.line, a.place.column) <
                              std::tie(b.place.file, b.place.line, b.place.column);
                     });
    NoteMistakes();
    return std::move(report_);
  }

 private:
  const std::vector<Ignore>& CommentsOf(const Manifest& manifest) {
    const auto [at, is_new] = comments_.try_emplace(manifest.source.get());
    if (is_new) at->second = IgnoresOf(*manifest.source);
    return at->second;
  }

  bool IsIgnored(const Finding& finding) {
    for (const Ignore& ignore : CommentsOf(*finding.manifest)) {
      if (ignore.id != finding.rule->id || !ignore.has_reason) continue;
      const bool near = ignore.line == finding.place.line || ignore.line + 1 == finding.place.line;
      if (near || ignore.of_all) return true;
    }
    return false;
  }

  // Comments that keep nothing quiet: without a reason, or with an id that no rule has.
  void NoteMistakes() {
    for (const Manifest& manifest : inputs_.manifests) {
      if (!seen_.insert(manifest.source.get()).second) continue;
      for (const Ignore& ignore : CommentsOf(manifest)) {
        const bool known = std::any_of(std::begin(kRules), std::end(kRules),
                                       [&](const LintRule* rule) { return rule->id == ignore.id; });
        const std::string_view what =
            !known ? "portcullis:ignore names no rule" : "portcullis:ignore has no reason";
        if (known && ignore.has_reason) continue;
        report_.problems.push_back(
            {{manifest.source->path(), ignore.line, 0}, base::StrCat(what, ": ", ignore.id)});
      }
    }
  }

  const Inputs& inputs_;
  LintReport report_;
  std::map<const SourceText*, std::vector<Ignore>> comments_;
  std::set<const SourceText*> seen_;
};

}  // namespace

std::string_view SeverityText(Severity severity) {
  constexpr std::string_view kTexts[] = {"error", "warning", "info"};
  return kTexts[static_cast<std::size_t>(severity)];
}

std::span<const LintRule* const> LintRules() { return kRules; }

base::Result<LintReport> Lint(const Inputs& inputs, const JudgeOptions& options) {
  return Linting(inputs).Run(options);
}

}  // namespace portcullis::offline
