// SPDX-License-Identifier: Apache-2.0

#include "offline/lint/mutations.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "admission/survey.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "json/reader.h"
#include "json/writer.h"
#include "offline/judging.h"
#include "offline/lint/trials.h"
#include "offline/review.h"

namespace portcullis::offline {
namespace {

constexpr std::size_t kMostDifferences = 3;
constexpr std::size_t kMaxText = 80;

// Whether the webhook has a part in what is judged.
bool IsCalled(const LintFacts& facts, const WebhookFact& webhook) {
  const JudgeOptions& options = facts.options();
  if (options.stand_in == nullptr) return options.cluster.https != nullptr;
  const auto answer = options.stand_in->AnswerFor(webhook.configuration->name, webhook.name());
  return !answer || answer->response.is_object();
}

// What names begin with so that mutators run in the order of their names; nothing for one alone, whose
// errors are shown.
std::string PrefixOf(std::size_t position, std::size_t count) {
  if (count == 1) return "";
  const std::string digits = std::to_string(position);
  return base::StrCat("m", std::string(3 - std::min<std::size_t>(digits.size(), 3), '0'), digits,
                      "-");
}

json::Value Renamed(json::Arena& arena, json::Value object, std::string_view name) {
  return json::SetPath(arena, object, {"metadata", "name"}, json::String(arena, name));
}

void Give(const Mutator& mutator, const std::string& prefix, Inputs& cluster) {
  const auto arena = std::make_shared<json::Arena>();
  const Manifest& manifest = mutator.manifest();
  const std::string name = prefix + manifest.name;
  json::Value object = Renamed(*arena, manifest.object, name);
  if (mutator.webhook != nullptr) {
    object =
        json::With(*arena, object, "webhooks", json::MakeArray(*arena, {mutator.webhook->hook}));
  }
  cluster.given.push_back(MakeManifest(manifest, arena, object));
  if (mutator.policy == nullptr) return;
  for (const Manifest* binding : mutator.policy->bindings) {
    const auto own = std::make_shared<json::Arena>();
    json::Value bound = Renamed(*own, binding->object, prefix + binding->name);
    bound = json::SetPath(*own, bound, {"spec", "policyName"}, json::String(*own, name));
    cluster.given.push_back(MakeManifest(*binding, own, bound));
  }
}

json::Value WithoutAll(json::Arena& arena, json::Value object,
                       std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) object = json::Without(arena, object, name);
  return object;
}

// The object as a client would create it again: without what the API server sets anew for each object.
json::Value Created(json::Arena& arena, json::Value object) {
  json::Value metadata =
      WithoutAll(arena, object["metadata"],
                 {"uid", "creationTimestamp", "resourceVersion", "managedFields", "generation"});
  if (metadata.Has("generateName")) metadata = json::Without(arena, metadata, "name");
  object = json::With(arena, json::Without(arena, object, "status"), "metadata", metadata);
  json::Value spec = object["spec"];
  if (!spec.is_object()) return object;
  const std::string_view kind = object["kind"].AsString();
  if (kind == "Service") spec = WithoutAll(arena, spec, {"clusterIP", "clusterIPs"});
  if (kind == "Job") {
    spec = json::Without(arena, spec, "selector");
    const json::Value labels =
        WithoutAll(arena, spec["template"]["metadata"]["labels"],
                   {"batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name",
                    "controller-uid", "job-name"});
    spec = json::SetPath(arena, spec, {"template", "metadata", "labels"}, labels);
  }
  return json::With(arena, object, "spec", spec);
}

std::string Shown(json::Value value) {
  if (value.is_null()) return "absent";
  std::string text = json::ToString(value);
  if (text.size() <= kMaxText) return text;
  return base::StrCat(base::CutUtf8(text, kMaxText), "…");
}

void AddDifferences(json::Value first, json::Value second, const std::string& path,
                    std::vector<std::string>& out) {
  if (out.size() > kMostDifferences || first == second) return;
  const std::string dot = path.empty() ? "" : ".";
  if (first.is_object() && second.is_object()) {
    for (const json::Member& member : first.members()) {
      AddDifferences(member.value, second[member.name()], base::StrCat(path, dot, member.name()),
                     out);
    }
    for (const json::Member& member : second.members()) {
      if (first.Has(member.name())) continue;
      AddDifferences({}, member.value, base::StrCat(path, dot, member.name()), out);
    }
    return;
  }
  if (first.is_array() && second.is_array()) {
    for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
      AddDifferences(first[i], second[i], base::StrCat(path, "[", std::to_string(i), "]"), out);
    }
    return;
  }
  out.push_back(base::StrCat(path, " is ", Shown(first), " or ", Shown(second)));
}

}  // namespace

const Manifest& Mutator::manifest() const {
  return policy != nullptr ? *policy->manifest : *webhook->configuration;
}

std::string Mutator::name() const {
  return policy != nullptr ? base::StrCat("policy ", policy->manifest->name)
                           : base::StrCat("webhook ", webhook->name());
}

std::vector<std::string> Mutator::steps() const {
  return policy != nullptr ? std::vector<std::string>{"metadata", "name"} : webhook->Steps({});
}

json::Value Mutator::rules() const {
  return policy != nullptr ? policy->spec()["matchConstraints"]["resourceRules"]
                           : webhook->hook["rules"];
}

Mutations::Mutations(const LintFacts& facts) : facts_(facts), options_(facts.options()) {
  options_.expand = false;
  options_.watch = nullptr;
  options_.cluster.dry_run = true;
  // It gives each Pod a volume with a name of its own.
  options_.cluster.admission_plugins.disable.emplace_back("ServiceAccount");
  for (const PolicyFact& policy : facts.policies()) {
    if (policy.mutates && !policy.bindings.empty()) mutators_.push_back({.policy = &policy});
  }
  for (const WebhookFact& webhook : facts.webhooks()) {
    if (webhook.mutates && IsCalled(facts, webhook)) mutators_.push_back({.webhook = &webhook});
  }
  if (mutators_.size() > kMostMutators) mutators_.resize(kMostMutators);
  const auto add = [&](const Manifest& sample) {
    const bool known = std::any_of(samples_.begin(), samples_.end(), [&](const Manifest& other) {
      return other.object == sample.object;
    });
    if (!known && samples_.size() < kMostSamples) samples_.push_back(sample);
  };
  for (const Mutator& mutator : mutators_) {
    for (const Manifest& sample : mutator.policy != nullptr
                                      ? PlainObjects(facts, *mutator.policy)
                                      : PlainObjects(facts, *mutator.webhook)) {
      add(sample);
    }
  }
  for (const Manifest& manifest : facts.manifests()) {
    const bool matches =
        IsTried(facts, manifest) && !IsReview(manifest) &&
        std::any_of(mutators_.begin(), mutators_.end(),
                    [&](const Mutator& mutator) { return Matches(mutator, manifest); });
    if (matches) add(manifest);
  }
}

std::string Mutations::NameOf(const Manifest& sample) {
  const std::string_view file = sample.source->path();
  if (file.starts_with("a plain ")) return std::string(file);
  return base::StrCat(sample.kind, " ", sample.name, " (", sample.Find({}).ToString(), ")");
}

std::vector<Manifest> Mutations::SamplesOf(const Mutator& mutator) const {
  std::vector<Manifest> samples;
  for (const Manifest& sample : samples_) {
    if (Matches(mutator, sample)) samples.push_back(sample);
  }
  return samples;
}

bool Mutations::Matches(const Mutator& mutator, const Manifest& sample) const {
  for (const api::catalog::ResourceInfo* info : facts_.catalog().resources()) {
    if (info->kind.kind != sample.kind || info->resource.group != sample.group()) continue;
    if (RulesMatch(mutator.rules(), {info->resource.group, info->resource.version,
                                     info->resource.resource, "CREATE", info->namespaced})) {
      return true;
    }
  }
  return false;
}

std::vector<json::Value> Mutations::Apply(json::Arena& arena, std::span<const Mutator* const> order,
                                          std::span<const Manifest> objects,
                                          std::vector<Result>* results) const {
  Inputs cluster;
  GiveSurroundings(facts_, cluster);
  for (std::size_t i = 0; i < order.size(); ++i) {
    Give(*order[i], PrefixOf(i, order.size()), cluster);
  }
  Judging judging(cluster, options_);
  if (!judging.Begin().ok()) return {};
  std::vector<json::Value> made;
  for (const Manifest& object : objects) {
    Review review;
    review.operation = "CREATE";
    review.ns = object.ns.empty() ? "default" : object.ns;
    review.name = object.name;
    review.object = object.object;
    review.manifest = object;
    Result result;
    if (object.object.is_object()) judging.JudgeReview(review, false, result);
    const auto read = json::Parse(arena, arena.Copy(result.object));
    made.push_back(read.ok() && read->is_object() ? Created(arena, *read) : json::Value());
    if (results != nullptr) results->push_back(std::move(result));
  }
  return made;
}

std::string Differences(json::Value first, json::Value second) {
  std::vector<std::string> found;
  AddDifferences(first, second, "", found);
  const bool more = found.size() > kMostDifferences;
  if (more) found.resize(kMostDifferences);
  return base::Join(found, ", ") + (more ? ", …" : "");
}

}  // namespace portcullis::offline
