// SPDX-License-Identifier: Apache-2.0

#include "offline/lint/trials.h"

#include <utility>

#include "base/strings.h"
#include "cel/program.h"
#include "json/writer.h"
#include "offline/judging.h"
#include "offline/review.h"
#include "offline/samples.h"
#include "offline/spot.h"
#include "offline/suites/reading.h"

namespace portcullis::offline {
namespace {

constexpr std::string_view kOperations[] = {"CREATE", "UPDATE", "DELETE"};

Spot TrialSpot(const LintFacts& facts, const PolicyFact& policy) {
  const json::Value binding =
      policy.bindings.empty() ? json::Value() : policy.bindings.front()->object;
  return SpotOf(facts.arena(), facts.manifests(),
                {policy.spec()["matchConstraints"], binding["spec"]["matchResources"]},
                policy.manifest->name);
}

Spot TrialSpot(const LintFacts& facts, const WebhookFact& webhook) {
  return SpotOf(facts.arena(), facts.manifests(), {webhook.hook}, webhook.name());
}

void GiveNamespace(const Spot& spot, const Manifest& origin, Inputs& inputs) {
  if (!spot.ns_labels.is_object()) return;
  for (const Manifest& given : inputs.given) {
    if (given.kind == "Namespace" && given.name == spot.ns) return;
  }
  const auto arena = std::make_shared<json::Arena>();
  const json::Value labels = json::DeepCopy(*arena, spot.ns_labels);
  inputs.given.push_back(MakeManifest(origin, arena, MakeNamespace(*arena, spot.ns, labels)));
}

Manifest PlainObject(const Sample& sample, const Spot& spot) {
  Inputs read;
  ReadText(base::StrCat("a plain ", sample.kind), SampleText(sample), true, read);
  Manifest manifest = read.manifests.front();
  const auto arena = std::make_shared<json::Arena>();
  json::Value object = json::DeepCopy(*arena, manifest.object);
  if (spot.labels.is_object()) {
    object =
        json::SetPath(*arena, object, {"metadata", "labels"}, json::DeepCopy(*arena, spot.labels));
  }
  if (sample.resource != "namespaces") {
    object =
        json::SetPath(*arena, object, {"metadata", "namespace"}, json::String(*arena, spot.ns));
  }
  return MakeManifest(manifest, arena, object);
}

bool NamesSample(json::Value rules, const Sample& sample, std::string_view operation) {
  return RulesMatch(rules, {sample.group(), sample.version(), sample.resource, operation,
                            sample.resource != "namespaces"});
}

std::vector<Manifest> PlainObjectsAt(json::Value rules, const Spot& spot) {
  std::vector<Manifest> made;
  for (const Sample& sample : Samples()) {
    for (const std::string_view operation : kOperations) {
      if (!NamesSample(rules, sample, operation)) continue;
      made.push_back(PlainObject(sample, spot));
      break;
    }
  }
  return made;
}

bool IsParameter(const LintFacts& facts, const Manifest& manifest) {
  for (const PolicyFact& policy : facts.policies()) {
    const json::Value kind = policy.spec()["paramKind"];
    if (kind["apiVersion"].AsString() == manifest.api_version &&
        kind["kind"].AsString() == manifest.kind) {
      return true;
    }
  }
  return false;
}

bool IsSurrounding(const LintFacts& facts, const Manifest& manifest) {
  if (manifest.group() == "apiextensions.k8s.io") return true;
  if (manifest.group().empty() && manifest.kind == "Namespace") return true;
  return IsParameter(facts, manifest);
}

}  // namespace

void GiveSurroundings(const LintFacts& facts, Inputs& inputs) {
  for (const Manifest& manifest : facts.manifests()) {
    if (IsSurrounding(facts, manifest)) inputs.given.push_back(manifest);
  }
  for (const PolicyFact& policy : facts.policies()) {
    GiveNamespace(TrialSpot(facts, policy), *policy.manifest, inputs);
  }
  for (const WebhookFact& webhook : facts.webhooks()) {
    GiveNamespace(TrialSpot(facts, webhook), *webhook.configuration, inputs);
  }
}

std::vector<Manifest> PlainObjects(const LintFacts& facts, const PolicyFact& policy) {
  return PlainObjectsAt(policy.spec()["matchConstraints"]["resourceRules"],
                        TrialSpot(facts, policy));
}

std::vector<Manifest> PlainObjects(const LintFacts& facts, const WebhookFact& webhook) {
  return PlainObjectsAt(webhook.hook["rules"], TrialSpot(facts, webhook));
}

bool IsTried(const LintFacts& facts, const Manifest& manifest) {
  if (manifest.group() == "admissionregistration.k8s.io") return false;
  if (manifest.group() == "rbac.authorization.k8s.io") return false;
  return !IsSurrounding(facts, manifest);
}

Trials::Trials(const LintFacts& facts, const JudgeOptions& options)
    : facts_(facts), options_(options) {
  options_.expand = false;
  options_.watch = this;
}

base::Result<std::unique_ptr<Trials>> Trials::Run(const LintFacts& facts, const Inputs& inputs,
                                                  const JudgeOptions& options) {
  std::unique_ptr<Trials> trials(new Trials(facts, options));
  Inputs cluster;
  GiveSurroundings(facts, cluster);
  for (const JudgedFact& judged : facts.judged()) {
    const PolicyFact& policy = judged.policy;
    cluster.given.push_back(*policy.manifest);
    for (const Manifest* binding : policy.bindings) cluster.given.push_back(*binding);
    if (!policy.bindings.empty()) continue;
    const auto arena = std::make_shared<json::Arena>();
    cluster.given.push_back(
        MakeManifest(*policy.manifest, arena, MakeBinding(*arena, *policy.manifest, {})));
  }
  Judging judging(cluster, trials->options_);
  TRY(judging.Begin());
  trials->TryManifests(judging, inputs);
  for (const JudgedFact& judged : facts.judged()) {
    trials->TryPlainObjects(judging, judged.policy);
  }
  return trials;
}

void Trials::TryManifests(Judging& judging, const Inputs& inputs) {
  for (const Manifest& manifest : inputs.manifests) {
    if (!IsTried(facts_, manifest)) continue;
    Trial trial;
    trial.manifest = &manifest;
    trial.subject = base::StrCat("the CREATE of ", manifest.kind, " ", manifest.name, " (",
                                 manifest.Find({}).ToString(), ")");
    if (IsReview(manifest)) {
      trial.subject = base::StrCat("the request at ", manifest.Find({}).ToString());
    }
    Try(judging, manifest, "CREATE", std::move(trial));
  }
}

void Trials::TryPlainObjects(Judging& judging, const PolicyFact& policy) {
  const json::Value rules = policy.spec()["matchConstraints"]["resourceRules"];
  const Spot spot = TrialSpot(facts_, policy);
  for (const Sample& sample : Samples()) {
    for (const std::string_view operation : kOperations) {
      if (!NamesSample(rules, sample, operation)) continue;
      const std::string key = base::StrCat(sample.resource, " ", operation, " ", spot.ns, " ",
                                           json::ToString(spot.labels));
      if (!known_.insert(key).second) continue;
      Trial trial;
      trial.subject = base::StrCat("the ", operation, " of a plain ", sample.kind);
      Try(judging, PlainObject(sample, spot), operation, std::move(trial));
    }
  }
}

void Trials::Try(Judging& judging, const Manifest& manifest, std::string_view operation,
                 Trial trial) {
  Review review;
  if (IsReview(manifest)) {
    review = ReadReview(manifest);
  } else {
    review.operation = operation;
    review.ns = manifest.ns.empty() ? "default" : manifest.ns;
    review.name = manifest.name;
    review.manifest = manifest;
    if (operation != "DELETE") review.object = manifest.object;
    if (operation != "CREATE") review.old_object = manifest.object;
  }
  Result& result = trials_.emplace_back(std::move(trial)).result;
  judging.JudgeReview(review, false, result);
  result.object.clear();  // of many manifests they take much memory
}

const TriedExpression* Trials::Find(const Manifest& policy, std::string_view expression) const {
  const auto found =
      expressions_.find({policy.kind, policy.name, std::string(base::Trim(expression))});
  return found == expressions_.end() ? nullptr : &found->second;
}

void Trials::Evaluated(const kube_cel::Owner& owner, const kube_cel::Expression& expression,
                       cel::Value value, const cel::Activation& activation, json::Arena& arena) {
  if (trials_.empty()) return;
  TriedExpression& tried = expressions_[{std::string(owner.kind), std::string(owner.name),
                                         std::string(base::Trim(expression.text()))}];
  const std::size_t now = trials_.size() - 1;
  if (value.is_error() && tried.error.empty()) {
    tried.error = value.error()->text;
    tried.failed_in = now;
  }
  // Evaluated once more for its cost, without what variables cost.
  const cel::EvalOptions options{.cost_limit = kube_cel::kCallLimit};
  const std::uint64_t cost = expression.program().Evaluate(activation, arena, options).cost;
  if (cost <= tried.cost) return;
  tried.cost = cost;
  tried.costliest_in = now;
  tried.exceeded = cost > kube_cel::kCallLimit;
}

}  // namespace portcullis::offline
