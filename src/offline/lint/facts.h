// SPDX-License-Identifier: Apache-2.0

// LintFacts: the manifests as the checks of lint see them: webhooks and policies with what they match.
//
// The manifests, the catalog, the options and the trials outlive it. Confined to one thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/catalog/catalog.h"
#include "base/clock.h"
#include "json/value.h"
#include "offline/lint/lint.h"

namespace portcullis::offline {

// One webhook of a configuration.
struct WebhookFact {
  const Manifest* configuration = nullptr;
  std::size_t index = 0;
  json::Value hook;
  bool mutates = false;

  std::string_view name() const { return hook["name"].AsString(); }
  bool fails_closed() const { return hook["failurePolicy"].AsString("Fail") == "Fail"; }
  json::Value service() const { return hook["clientConfig"]["service"]; }
  std::int64_t timeout_seconds() const { return hook["timeoutSeconds"].AsInt(10); }
  std::vector<std::string> Steps(std::initializer_list<std::string_view> below) const;
};

// A ValidatingAdmissionPolicy or MutatingAdmissionPolicy with its bindings.
struct PolicyFact {
  const Manifest* manifest = nullptr;
  std::vector<const Manifest*> bindings;
  bool mutates = false;

  json::Value spec() const { return manifest->object["spec"]; }
  bool fails_closed() const { return spec()["failurePolicy"].AsString("Fail") == "Fail"; }
  bool denies() const;  // by one of its bindings
};

// An expression of a policy, with its place.
struct ExpressionFact {
  std::string_view text;
  std::vector<std::string> steps;  // {"spec", "validations", "0", "expression"}
  std::string_view section;        // "validations", "matchConditions", "variables", …
};

// What is tried with requests: a policy, or the match conditions of a webhook as a policy that says
// nothing else. Kubernetes evaluates both alike, within the same limits.
struct JudgedFact {
  PolicyFact policy;                     // of `manifest` is what is judged
  const WebhookFact* webhook = nullptr;  // null: the policy stands in a file

  // Where an expression of `policy` stands: the manifest and the steps in it.
  const Manifest& manifest() const;
  std::vector<std::string> StepsOf(std::vector<std::string> steps) const;
};

class Trials;  // lint/trials.h

class LintFacts {
 public:
  LintFacts(std::span<const Manifest> manifests, const api::catalog::Catalog& catalog,
            base::WallTime now, const JudgeOptions& options);

  std::span<const Manifest> manifests() const { return manifests_; }
  const api::catalog::Catalog& catalog() const { return catalog_; }
  base::WallTime now() const { return now_; }
  const JudgeOptions& options() const { return options_; }
  const Trials& trials() const { return *trials_; }
  void set_trials(const Trials& trials) { trials_ = &trials; }
  json::Arena& arena() const { return arena_; }  // lives as long as the facts
  const std::vector<WebhookFact>& webhooks() const { return webhooks_; }
  const std::vector<PolicyFact>& policies() const { return policies_; }
  const std::vector<JudgedFact>& judged() const { return judged_; }
  const std::vector<const Manifest*>& bindings() const { return bindings_; }

  const Manifest* FindManifest(std::string_view kind, std::string_view ns,
                               std::string_view name) const;
  // The labels of a namespace: of its manifest, else those that every namespace has.
  json::Value LabelsOf(std::string_view ns) const;

 private:
  const std::span<const Manifest> manifests_;
  const api::catalog::Catalog& catalog_;
  const base::WallTime now_;
  const JudgeOptions& options_;
  const Trials* trials_ = nullptr;
  mutable json::Arena arena_;  // of labels
  std::vector<WebhookFact> webhooks_;
  std::vector<PolicyFact> policies_;
  std::vector<const Manifest*> bindings_;
  std::vector<std::unique_ptr<const Manifest>> conditions_;  // of webhooks, as policies
  std::vector<JudgedFact> judged_;
};

// Something that a rule may match: {"", "v1", "pods", "CREATE"}.
struct Target {
  std::string_view group;
  std::string_view version;
  std::string_view resource;  // "pods", "pods/status"
  std::string_view operation;
  bool namespaced = true;
};

// Whether one of the rules (of a webhook, or resourceRules) names the target.
bool RulesMatch(json::Value rules, const Target& target);
// Whether the rule is for everything: groups and resources are "*".
bool IsWide(json::Value rule);

// Whether a LabelSelector selects the labels; one that is absent or empty does.
bool Selects(json::Value selector, json::Value labels);

// Whether the webhook is called for objects of the namespace with these labels.
bool IsCalledIn(const LintFacts& facts, const WebhookFact& webhook, std::string_view ns);

// What the pods behind the webhook's Service have for labels, as far as a file says; else null.
json::Value LabelsOfOwnPods(const LintFacts& facts, const WebhookFact& webhook);
// The Secrets with a certificate that these pods mount, as far as a file says.
std::vector<const Manifest*> CertificatesOfOwnPods(const LintFacts& facts,
                                                   const WebhookFact& webhook);

// The apiVersion in which the object means the same, with the same fields and defaults; "": there is none, or
// none is known.
std::string_view SameInNewerVersion(const Manifest& manifest);

// The certificates in PEM of a TLS Secret; "": it has none.
std::string CertificateOf(const Manifest& secret);

std::vector<ExpressionFact> ExpressionsOf(const Manifest& policy);
// Whether one of the resource rules names the operation.
bool HasOperation(json::Value rules, std::string_view operation);
// Whether the expression itself sees to `variable` (object, oldObject) being null.
bool IsNullGuarded(std::string_view expression, std::string_view variable);
// Whether a match condition looks at the operation.
bool ConditionsSeeOperation(json::Value policy_spec);
// Whether the text has the word, not as a part of a longer one and not in quotes.
bool Mentions(std::string_view expression, std::string_view word);

// What a check finds.
class Findings {
 public:
  Findings(const LintRule& rule, std::vector<Finding>& out) : rule_(rule), out_(out) {}
  void Add(const Manifest& manifest, std::span<const std::string> steps, std::string message) {
    Finding finding;
    finding.rule = &rule_;
    finding.manifest = &manifest;
    finding.place = manifest.Find(steps);
    finding.message = std::move(message);
    out_.push_back(std::move(finding));
  }
  // Whether an error has been found at that place by this rule or one before it.
  bool HasErrorAt(const Manifest& manifest, std::span<const std::string> steps) const;
  // The last one is mended by another value there.
  void Fix(std::vector<std::string> steps, std::string_view text);
  // The last one is mended by deleting an element of that list, of several.
  void FixByDeleting(std::vector<std::string> steps, json::Value list, std::size_t index);

 private:
  const LintRule& rule_;
  std::vector<Finding>& out_;
};

}  // namespace portcullis::offline
