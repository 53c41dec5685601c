// SPDX-License-Identifier: Apache-2.0

#include "offline/lint/facts.h"

#include <utility>

#include "api/selector/label_selector.h"
#include "base/strings.h"

namespace portcullis::offline {
namespace {

constexpr std::string_view kGroup = "admissionregistration.k8s.io";

bool Has(json::Value list, std::string_view text) {
  for (const json::Value& one : list.elements()) {
    if (one.AsString() == text) return true;
  }
  return false;
}

bool HasOrAll(json::Value list, std::string_view text) { return Has(list, "*") || Has(list, text); }

bool ResourceMatches(json::Value resources, std::string_view resource) {
  const auto cut = base::Cut(resource, "/");
  const std::string_view parent = cut ? cut->first : resource;
  for (const json::Value& one : resources.elements()) {
    const std::string_view text = one.AsString();
    if (text == "*/*" || text == resource) return true;
    if (!cut && text == "*") return true;
    if (cut && (text == base::StrCat(parent, "/*") || text == base::StrCat("*/", cut->second))) {
      return true;
    }
  }
  return false;
}

bool ScopeMatches(std::string_view scope, bool namespaced) {
  if (scope == "Cluster") return !namespaced;
  return scope != "Namespaced" || namespaced;
}

bool IsWordPart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The text with what stands in quotes blanked out.
std::string WithoutQuotes(std::string_view expression) {
  std::string out(expression);
  char quote = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const char c = out[i];
    if (quote == 0) {
      if (c == '\'' || c == '"') quote = c;
      continue;
    }
    if (c == '\\' && i + 1 < out.size()) {
      out[i] = out[i + 1] = ' ';
      ++i;
      continue;
    }
    if (c == quote) {
      quote = 0;
    } else {
      out[i] = ' ';
    }
  }
  return out;
}

void AddExpressions(json::Value list, std::string_view section,
                    std::initializer_list<std::string_view> members,
                    std::vector<ExpressionFact>& out) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    for (const std::string_view member : members) {
      const json::Value value = list[i][member];
      const json::Value text = value.is_object() ? value["expression"] : value;
      if (!text.is_string()) continue;
      ExpressionFact fact;
      fact.text = text.AsString();
      fact.section = section;
      fact.steps = {"spec", std::string(section), std::to_string(i), std::string(member)};
      if (value.is_object()) fact.steps.emplace_back("expression");
      out.push_back(std::move(fact));
    }
  }
}

// The webhook's match conditions as a ValidatingAdmissionPolicy for the same requests.
Manifest ConditionsPolicy(const WebhookFact& webhook, std::size_t number) {
  const auto arena = std::make_shared<json::Arena>();
  const json::Value& hook = webhook.hook;
  json::ObjectBuilder matches(*arena);
  matches.Set("resourceRules", hook["rules"]);
  for (const std::string_view name : {"namespaceSelector", "objectSelector", "matchPolicy"}) {
    if (hook.Has(name)) matches.Set(name, hook[name]);
  }
  const json::Value always = json::ObjectBuilder(*arena).Set("expression", "true").Build();
  const json::Value spec = json::ObjectBuilder(*arena)
                               .Set("failurePolicy", "Ignore")
                               .Set("matchConstraints", matches.Build())
                               .Set("matchConditions", hook["matchConditions"])
                               .Set("validations", json::MakeArray(*arena, {always}))
                               .Build();
  const std::string name = base::StrCat("conditions-of-webhook-", std::to_string(number));
  return MakeManifest(*webhook.configuration, arena,
                      json::ObjectBuilder(*arena)
                          .Set("apiVersion", base::StrCat(kGroup, "/v1"))
                          .Set("kind", "ValidatingAdmissionPolicy")
                          .Set("metadata", json::ObjectBuilder(*arena).Set("name", name).Build())
                          .Set("spec", spec)
                          .Build());
}

// The pod of a Pod or of a workload.
json::Value PodOf(const Manifest& manifest) {
  return manifest.kind == "Pod" ? manifest.object : manifest.object["spec"]["template"];
}

void AddSecrets(const LintFacts& facts, const Manifest& workload,
                std::vector<const Manifest*>& out) {
  const auto add = [&](json::Value name) {
    const Manifest* secret =
        name.is_string() ? facts.FindManifest("Secret", workload.ns, name.AsString()) : nullptr;
    if (secret == nullptr || CertificateOf(*secret).empty()) return;
    if (std::find(out.begin(), out.end(), secret) == out.end()) out.push_back(secret);
  };
  for (const json::Value& volume : PodOf(workload)["spec"]["volumes"].elements()) {
    add(volume["secret"]["secretName"]);
    for (const json::Value& source : volume["projected"]["sources"].elements()) {
      add(source["secret"]["name"]);
    }
  }
}

}  // namespace

const Manifest& JudgedFact::manifest() const {
  return webhook == nullptr ? *policy.manifest : *webhook->configuration;
}

std::vector<std::string> JudgedFact::StepsOf(std::vector<std::string> steps) const {
  if (webhook == nullptr) return steps;
  std::vector<std::string> own = webhook->Steps({});
  own.insert(own.end(), steps.begin() + 1, steps.end());  // without "spec"
  return own;
}

std::string CertificateOf(const Manifest& secret) {
  const json::Value text = secret.object["stringData"]["tls.crt"];
  if (text.is_string()) return std::string(text.AsString());
  return base::Base64Decode(secret.object["data"]["tls.crt"].AsString()).value_or("");
}

std::vector<std::string> WebhookFact::Steps(std::initializer_list<std::string_view> below) const {
  std::vector<std::string> steps = {"webhooks", std::to_string(index)};
  for (const std::string_view step : below) steps.emplace_back(step);
  return steps;
}

bool PolicyFact::denies() const {
  for (const Manifest* binding : bindings) {
    if (Has(binding->object["spec"]["validationActions"], "Deny")) return true;
  }
  return false;
}

LintFacts::LintFacts(std::span<const Manifest> manifests, const api::catalog::Catalog& catalog,
                     base::WallTime now, const JudgeOptions& options)
    : manifests_(manifests), catalog_(catalog), now_(now), options_(options) {
  for (const Manifest& manifest : manifests_) {
    if (manifest.group() != kGroup) continue;
    if (manifest.kind.ends_with("WebhookConfiguration")) {
      const json::Value webhooks = manifest.object["webhooks"];
      for (std::size_t i = 0; i < webhooks.size(); ++i) {
        webhooks_.push_back({&manifest, i, webhooks[i], manifest.kind.starts_with("Mutating")});
      }
    } else if (manifest.kind.ends_with("AdmissionPolicyBinding")) {
      bindings_.push_back(&manifest);
    } else if (manifest.kind.ends_with("AdmissionPolicy")) {
      policies_.push_back({&manifest, {}, manifest.kind.starts_with("Mutating")});
    }
  }
  for (PolicyFact& policy : policies_) {
    for (const Manifest* binding : bindings_) {
      if (binding->kind.starts_with(policy.manifest->kind) &&
          binding->object["spec"]["policyName"].AsString() == policy.manifest->name) {
        policy.bindings.push_back(binding);
      }
    }
    judged_.push_back({policy, nullptr});
  }
  for (const WebhookFact& webhook : webhooks_) {
    if (webhook.hook["matchConditions"].empty()) continue;
    const Manifest& made = *conditions_.emplace_back(
        std::make_unique<const Manifest>(ConditionsPolicy(webhook, judged_.size())));
    judged_.push_back({{&made, {}, false}, &webhook});
  }
}

const Manifest* LintFacts::FindManifest(std::string_view kind, std::string_view ns,
                                        std::string_view name) const {
  for (const Manifest& manifest : manifests_) {
    if (manifest.kind == kind && manifest.name == name && (ns.empty() || manifest.ns == ns)) {
      return &manifest;
    }
  }
  return nullptr;
}

json::Value LintFacts::LabelsOf(std::string_view ns) const {
  const Manifest* manifest = FindManifest("Namespace", "", ns);
  const json::Value labels =
      manifest == nullptr ? json::Value() : manifest->object["metadata"]["labels"];
  return json::With(arena_, labels, "kubernetes.io/metadata.name", json::String(arena_, ns));
}

bool RulesMatch(json::Value rules, const Target& target) {
  for (const json::Value& rule : rules.elements()) {
    if (HasOrAll(rule["apiGroups"], target.group) &&
        HasOrAll(rule["apiVersions"], target.version) &&
        HasOrAll(rule["operations"], target.operation) &&
        ResourceMatches(rule["resources"], target.resource) &&
        ScopeMatches(rule["scope"].AsString("*"), target.namespaced)) {
      return true;
    }
  }
  return false;
}

bool IsWide(json::Value rule) {
  return Has(rule["apiGroups"], "*") &&
         (Has(rule["resources"], "*") || Has(rule["resources"], "*/*"));
}

bool Selects(json::Value selector, json::Value labels) {
  if (!selector.is_object()) return true;
  const auto parsed = api::LabelSelector::FromJson(selector);
  return !parsed.ok() || parsed->Matches(labels);
}

bool IsCalledIn(const LintFacts& facts, const WebhookFact& webhook, std::string_view ns) {
  if (!Selects(webhook.hook["namespaceSelector"], facts.LabelsOf(ns))) return false;
  // A condition on the namespace, by whatever expression.
  for (const json::Value& condition : webhook.hook["matchConditions"].elements()) {
    const std::string_view text = condition["expression"].AsString();
    if (text.find("namespace") != std::string_view::npos) return false;
  }
  return true;
}

json::Value LabelsOfOwnPods(const LintFacts& facts, const WebhookFact& webhook) {
  const json::Value service = webhook.service();
  const Manifest* manifest =
      facts.FindManifest("Service", service["namespace"].AsString(), service["name"].AsString());
  return manifest == nullptr ? json::Value() : manifest->object["spec"]["selector"];
}

std::vector<const Manifest*> CertificatesOfOwnPods(const LintFacts& facts,
                                                   const WebhookFact& webhook) {
  std::vector<const Manifest*> secrets;
  const json::Value wanted = LabelsOfOwnPods(facts, webhook);
  if (wanted.empty()) return secrets;
  for (const Manifest& manifest : facts.manifests()) {
    if (manifest.ns != webhook.service()["namespace"].AsString()) continue;
    const json::Value labels = PodOf(manifest)["metadata"]["labels"];
    bool selected = labels.is_object();
    for (const json::Member& label : wanted.members()) {
      selected = selected && labels[label.name()].AsString() == label.value.AsString();
    }
    if (selected) AddSecrets(facts, manifest, secrets);
  }
  return secrets;
}

std::string_view SameInNewerVersion(const Manifest& manifest) {
  struct Same {
    std::string_view old_version;
    std::string_view kind;
    std::string_view new_version;
  };
  constexpr Same kSame[] = {
      {"admissionregistration.k8s.io/v1beta1", "ValidatingAdmissionPolicy",
       "admissionregistration.k8s.io/v1"},
      {"admissionregistration.k8s.io/v1beta1", "ValidatingAdmissionPolicyBinding",
       "admissionregistration.k8s.io/v1"},
      {"apiregistration.k8s.io/v1beta1", "APIService", "apiregistration.k8s.io/v1"},
      {"autoscaling/v2beta2", "HorizontalPodAutoscaler", "autoscaling/v2"},
      {"batch/v1beta1", "CronJob", "batch/v1"},
      {"coordination.k8s.io/v1beta1", "Lease", "coordination.k8s.io/v1"},
      {"networking.k8s.io/v1beta1", "IngressClass", "networking.k8s.io/v1"},
      {"node.k8s.io/v1beta1", "RuntimeClass", "node.k8s.io/v1"},
      {"rbac.authorization.k8s.io/v1beta1", "ClusterRole", "rbac.authorization.k8s.io/v1"},
      {"rbac.authorization.k8s.io/v1beta1", "ClusterRoleBinding", "rbac.authorization.k8s.io/v1"},
      {"rbac.authorization.k8s.io/v1beta1", "Role", "rbac.authorization.k8s.io/v1"},
      {"rbac.authorization.k8s.io/v1beta1", "RoleBinding", "rbac.authorization.k8s.io/v1"},
      {"scheduling.k8s.io/v1beta1", "PriorityClass", "scheduling.k8s.io/v1"},
      {"storage.k8s.io/v1beta1", "StorageClass", "storage.k8s.io/v1"},
      {"storage.k8s.io/v1beta1", "VolumeAttachment", "storage.k8s.io/v1"},
  };
  for (const Same& same : kSame) {
    if (same.old_version == manifest.api_version && same.kind == manifest.kind) {
      return same.new_version;
    }
  }
  return "";
}

bool Findings::HasErrorAt(const Manifest& manifest, std::span<const std::string> steps) const {
  const Location place = manifest.Find(steps);
  for (const Finding& finding : out_) {
    if (finding.rule->severity == Severity::kError && finding.manifest == &manifest &&
        finding.place.line == place.line && finding.place.column == place.column) {
      return true;
    }
  }
  return false;
}

void Findings::Fix(std::vector<std::string> steps, std::string_view text) {
  Finding& finding = out_.back();
  finding.fix_arena = std::make_shared<json::Arena>();
  finding.fix = json::String(*finding.fix_arena, text);
  finding.fix_steps = std::move(steps);
}

void Findings::FixByDeleting(std::vector<std::string> steps, json::Value list, std::size_t index) {
  if (list.size() < 2) return;
  Finding& finding = out_.back();
  finding.fix_arena = std::make_shared<json::Arena>();
  json::ArrayBuilder kept(*finding.fix_arena);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i != index) kept.Add(list[i]);
  }
  finding.fix = kept.Build();
  finding.fix_steps = std::move(steps);
}

std::vector<ExpressionFact> ExpressionsOf(const Manifest& policy) {
  std::vector<ExpressionFact> out;
  const json::Value spec = policy.object["spec"];
  AddExpressions(spec["matchConditions"], "matchConditions", {"expression"}, out);
  AddExpressions(spec["variables"], "variables", {"expression"}, out);
  AddExpressions(spec["validations"], "validations", {"expression", "messageExpression"}, out);
  AddExpressions(spec["auditAnnotations"], "auditAnnotations", {"valueExpression"}, out);
  AddExpressions(spec["mutations"], "mutations", {"applyConfiguration", "jsonPatch"}, out);
  return out;
}

bool HasOperation(json::Value rules, std::string_view operation) {
  for (const json::Value& rule : rules.elements()) {
    if (HasOrAll(rule["operations"], operation)) return true;
  }
  return false;
}

bool IsNullGuarded(std::string_view expression, std::string_view variable) {
  if (Mentions(expression, "request.operation")) return true;
  for (std::string_view test : {" != null", " == null", ".?"}) {
    if (expression.find(base::StrCat(variable, test)) != std::string_view::npos) return true;
  }
  return false;
}

bool ConditionsSeeOperation(json::Value policy_spec) {
  for (const json::Value& condition : policy_spec["matchConditions"].elements()) {
    if (Mentions(condition["expression"].AsString(), "request.operation")) return true;
  }
  return false;
}

bool Mentions(std::string_view expression, std::string_view word) {
  const std::string text = WithoutQuotes(expression);
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || (!IsWordPart(text[at - 1]) && text[at - 1] != '.');
    const std::size_t end = at + word.size();
    if (begins && (end == text.size() || !IsWordPart(text[end]))) return true;
  }
  return false;
}

}  // namespace portcullis::offline
