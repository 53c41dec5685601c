// SPDX-License-Identifier: Apache-2.0

#include "authz/rbac/bootstrap.h"

#include <algorithm>
#include <utility>

#include "authz/rbac/bootstrap_policy.h"
#include "authz/rbac/coverage.h"
#include "authz/rbac/policy_rule.h"
#include "base/strings.h"

namespace portcullis::authz::rbac {
namespace {

constexpr std::string_view kApiVersion = "rbac.authorization.k8s.io/v1";
constexpr std::string_view kAutoUpdate = "rbac.authorization.kubernetes.io/autoupdate";
constexpr std::string_view kAggregate = "rbac.authorization.k8s.io/aggregate-to-";

using Words = std::vector<std::string_view>;

Words Pieces(std::string_view text, char separator) {
  Words out;
  for (std::string_view piece : base::Split(text, separator)) {
    if (piece = base::Trim(piece); !piece.empty()) out.push_back(piece);
  }
  return out;
}

// Takes each "GATE?" off the front of a word. False if one of the gates is off.
bool TakeGate(std::string_view& word, const GateEnabled& gate_enabled) {
  for (bool enabled = true;;) {
    const auto parts = base::Cut(word, "?");
    if (!parts || parts->first.find(' ') != std::string_view::npos) return enabled;
    word = parts->second;
    enabled = enabled && (!gate_enabled || gate_enabled(parts->first));
  }
}

// A list in the data, its shorthands spelled out, in alphabetical order as Kubernetes stores it.
std::vector<std::string> List(std::string_view text, const GateEnabled& gate_enabled) {
  std::vector<std::string> out;
  for (std::string_view word : Pieces(text, ',')) {
    if (!TakeGate(word, gate_enabled)) continue;
    if (word == "read") {
      out.insert(out.end(), {"get", "list", "watch"});
    } else if (word == "write") {
      out.insert(out.end(), {"create", "delete", "deletecollection", "patch", "update"});
    } else {
      out.emplace_back(word == "core" ? "" : word);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

PolicyRule RuleOf(std::string_view line, const GateEnabled& gate_enabled) {
  PolicyRule rule;
  if (line == "events") {
    return {{"create", "patch", "update"}, {"", "events.k8s.io"}, {"events"}, {}, {}};
  }
  const std::vector<std::string_view> parts = base::Split(line, '|');
  rule.verbs = List(parts[2], gate_enabled);
  if (base::Trim(parts[0]) == "url") {
    rule.non_resource_urls = List(parts[1], gate_enabled);
    return rule;
  }
  rule.api_groups = List(parts[0], gate_enabled);
  rule.resources = List(parts[1], gate_enabled);
  if (parts.size() > 3) rule.resource_names = List(parts[3], gate_enabled);
  return rule;
}

class Builder {
 public:
  Builder(json::Arena& arena, const GateEnabled& gate_enabled)
      : arena_(arena), gate_enabled_(gate_enabled) {}

  std::vector<BootstrapObject> Build() {
    for (std::string_view line : base::Split(kBootstrapPolicy, '\n')) {
      const bool is_rule = line.starts_with("  ");
      if (line = base::Trim(line); line.empty()) continue;
      if (is_rule) {
        if (TakeGate(line, gate_enabled_)) rules_.push_back(RuleOf(line, gate_enabled_));
        continue;
      }
      FinishRole();
      Words words = Pieces(line, ' ');
      if (!TakeGate(words[1], gate_enabled_)) continue;
      if (words[0] == "bind") {
        Bind(words);
      } else {
        role_ = words;
      }
    }
    FinishRole();
    return std::move(objects_);
  }

 private:
  // The value of the option `key=…`, or "".
  static std::string_view Option(const Words& words, std::string_view key) {
    for (std::string_view word : words) {
      if (word.starts_with(key) && word.substr(key.size()).starts_with('=')) {
        return word.substr(key.size() + 1);
      }
    }
    return {};
  }

  json::Value Metadata(std::string_view name, std::string_view ns, std::string_view aggregate) {
    json::ObjectBuilder labels(arena_);
    labels.Set("kubernetes.io/bootstrapping", "rbac-defaults");
    if (!aggregate.empty()) labels.Set(arena_.Copy(base::StrCat(kAggregate, aggregate)), "true");
    json::ObjectBuilder metadata(arena_);
    metadata.Set("name", name);
    if (!ns.empty()) metadata.Set("namespace", ns);
    metadata.Set("labels", labels.Build());
    metadata.Set("annotations",
                 json::ObjectBuilder(arena_).Set(kAutoUpdate, std::string_view("true")).Build());
    return metadata.Build();
  }

  // `words`: its line, of which there are options.
  void Add(std::string_view resource, std::string_view name, json::Value object,
           const Words& words) {
    objects_.push_back({std::string(resource), std::string(Option(words, "in")), std::string(name),
                        object, std::string(Option(words, "like"))});
  }

  void FinishRole() {
    if (role_.empty()) return rules_.clear();  // those of a role that is off
    const bool controller = role_[0] == "controller";
    const std::string name =
        controller ? base::StrCat("system:controller:", role_[1]) : std::string(role_[1]);
    const std::string_view ns = Option(role_, "in");
    json::ObjectBuilder role(arena_);
    role.Set("kind", ns.empty() ? "ClusterRole" : "Role").Set("apiVersion", kApiVersion);
    role.Set("metadata", Metadata(name, ns, Option(role_, "to")));
    if (std::string_view from = Option(role_, "from"); !from.empty()) {
      role.Set("rules", json::Value());
      role.Set("aggregationRule", Aggregation(from));
    } else {
      role.Set("rules", RulesToJson(arena_, rules_));
    }
    Add(ns.empty() ? "clusterroles" : "roles", name, role.Build(), role_);
    if (controller) {
      const std::string subject = base::StrCat("sa:kube-system/", role_[1]);
      Bind({"bind", arena_.Copy(name), arena_.Copy(subject)});
    }
    role_.clear();
    rules_.clear();
  }

  json::Value Aggregation(std::string_view from) {
    const std::string_view label = arena_.Copy(base::StrCat(kAggregate, from));
    json::Value labels = json::ObjectBuilder(arena_).Set(label, std::string_view("true")).Build();
    json::Value selector = json::ObjectBuilder(arena_).Set("matchLabels", labels).Build();
    return json::ObjectBuilder(arena_)
        .Set("clusterRoleSelectors", json::MakeArray(arena_, {selector}))
        .Build();
  }

  void Bind(const Words& words) {
    const std::string_view ns = Option(words, "in");
    const std::string_view as = Option(words, "as");
    const std::string_view name = as.empty() ? words[1] : as;
    json::ArrayBuilder subjects(arena_);
    for (std::size_t i = 2; i < words.size(); ++i) {
      if (words[i].find('=') != std::string_view::npos) continue;  // an option
      const auto parts = base::Cut(words[i], ":");
      if (parts) subjects.Add(Subject(parts->first, parts->second));
    }
    json::ObjectBuilder binding(arena_);
    binding.Set("kind", ns.empty() ? "ClusterRoleBinding" : "RoleBinding");
    binding.Set("apiVersion", kApiVersion).Set("metadata", Metadata(name, ns, {}));
    if (subjects.size() > 0) binding.Set("subjects", subjects.Build());
    binding.Set("roleRef", json::ObjectBuilder(arena_)
                               .Set("apiGroup", "rbac.authorization.k8s.io")
                               .Set("kind", ns.empty() ? "ClusterRole" : "Role")
                               .Set("name", words[1])
                               .Build());
    Add(ns.empty() ? "clusterrolebindings" : "rolebindings", name, binding.Build(), words);
  }

  json::Value Subject(std::string_view kind, std::string_view name) {
    json::ObjectBuilder subject(arena_);
    if (kind == "sa") {
      const auto parts = base::Cut(name, "/");
      subject.Set("kind", "ServiceAccount").Set("name", parts->second);
      subject.Set("namespace", parts->first);
    } else {
      subject.Set("kind", kind == "user" ? "User" : "Group");
      subject.Set("apiGroup", "rbac.authorization.k8s.io").Set("name", name);
    }
    return subject.Build();
  }

  json::Arena& arena_;
  const GateEnabled& gate_enabled_;
  Words role_;
  std::vector<PolicyRule> rules_;
  std::vector<BootstrapObject> objects_;
};

bool IsProtected(json::Value existing) {
  return existing["metadata"]["annotations"][kAutoUpdate].AsString() == "false";
}

// Adds the members of `wanted` that `object` does not have.
json::Value AddMissing(json::Arena& arena, json::Value object, json::Value wanted, bool& changed) {
  for (const json::Member& member : wanted.members()) {
    if (object.Has(member.name())) continue;
    object = json::With(arena, object, member.name(), member.value);
    changed = true;
  }
  return object;
}

// The same of elements of lists: subjects, and selectors of aggregated roles.
json::Value AddMissingElements(json::Arena& arena, json::Value existing, json::Value wanted,
                               bool& changed) {
  json::ArrayBuilder elements(arena, existing);
  for (json::Value element : wanted.elements()) {
    const auto have = existing.elements();
    if (std::find(have.begin(), have.end(), element) != have.end()) continue;
    elements.Add(element);
    changed = true;
  }
  return elements.Build();
}

// A role that is no aggregated one, or no longer, has no selectors.
json::Value ReconcileAggregation(json::Arena& arena, json::Value role, json::Value wanted,
                                 bool& changed) {
  if (!wanted.Has("aggregationRule")) {
    if (role["aggregationRule"].is_null()) return role;
    changed = true;
    return json::Without(arena, role, "aggregationRule");
  }
  constexpr std::string_view kSelectors = "clusterRoleSelectors";
  return json::SetPath(arena, role, {"aggregationRule", kSelectors},
                       AddMissingElements(arena, role["aggregationRule"][kSelectors],
                                          wanted["aggregationRule"][kSelectors], changed));
}

}  // namespace

std::vector<BootstrapObject> BootstrapObjects(json::Arena& arena, const GateEnabled& gate_enabled) {
  return Builder(arena, gate_enabled).Build();
}

json::Value Inherit(json::Arena& arena, json::Value source, const BootstrapObject& wanted) {
  if (!source["aggregationRule"].is_null()) return {};
  json::ObjectBuilder metadata(arena);
  metadata.Set("name", wanted.name);
  for (std::string_view part : {"labels", "annotations"}) {
    const json::Value map = source["metadata"][part];
    if (!map.is_null()) metadata.Set(part, map);
  }
  json::ObjectBuilder made(arena);
  for (const json::Member& member : wanted.object.members()) {
    const std::string_view name = member.name();
    if (name == "metadata") {
      made.Set(name, metadata.Build());
    } else if (name == "subjects" || name == "rules") {
      if (!source[name].is_null()) made.Set(name, source[name]);
    } else {
      made.Set(name, member.value);
    }
  }
  return made.Build();
}

bool IsOfAnotherRole(json::Value existing, const BootstrapObject& wanted) {
  return !IsProtected(existing) && !(existing["roleRef"] == wanted.object["roleRef"]);
}

json::Value Reconcile(json::Arena& arena, json::Value existing, const BootstrapObject& wanted) {
  const json::Value metadata = existing["metadata"];
  if (IsProtected(existing)) return {};
  bool changed = false;
  json::Value out = existing;
  for (std::string_view part : {"labels", "annotations"}) {
    const json::Value merged =
        AddMissing(arena, metadata[part], wanted.object["metadata"][part], changed);
    if (!merged.is_null()) out = json::SetPath(arena, out, {"metadata", part}, merged);
  }
  if (wanted.object.Has("subjects")) {
    out = json::With(
        arena, out, "subjects",
        AddMissingElements(arena, existing["subjects"], wanted.object["subjects"], changed));
  }
  out = ReconcileAggregation(arena, out, wanted.object, changed);
  // Aggregated roles get their rules from others.
  if (wanted.object.Has("rules") && !wanted.object.Has("aggregationRule")) {
    std::vector<PolicyRule> rules = RulesFromJson(existing["rules"]);
    const auto missing = Uncovered(rules, RulesFromJson(wanted.object["rules"]));
    if (missing.ok() && !missing->empty()) {
      const std::vector<PolicyRule> compact = Compact(*missing);
      rules.insert(rules.end(), compact.begin(), compact.end());
      out = json::With(arena, out, "rules", RulesToJson(arena, rules));
      changed = true;
    }
  }
  return changed ? out : json::Value();
}

}  // namespace portcullis::authz::rbac
