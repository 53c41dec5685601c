// SPDX-License-Identifier: Apache-2.0

#include "flow_control/classifier.h"

#include <optional>

#include "base/strings.h"

namespace portcullis::flow_control {
namespace {

constexpr std::string_view kServiceAccount = "system:serviceaccount:";

bool Matches(const ResourceRule& rule, const RequestFacts& facts) {
  if (!rule.verbs.Contains(facts.verb) || !rule.api_groups.Contains(facts.api_group)) return false;
  return facts.ns.empty() ? rule.cluster_scope : rule.namespaces.Contains(facts.ns);
}

// The namespace in "system:serviceaccount:namespace:name", as far as it looks like one.
std::optional<std::string_view> NamespaceOf(std::string_view user) {
  if (!user.starts_with(kServiceAccount)) return std::nullopt;
  user.remove_prefix(kServiceAccount.size());
  const std::size_t colon = user.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  return user.substr(0, colon);
}

}  // namespace

Classifier::Classifier(const std::vector<SchemaSpec>& schemas) : count_(schemas.size()) {
  for (std::size_t order = 0; order < schemas.size(); ++order) {
    for (const PolicyRule& rule : schemas[order].rules) {
      for (const Subject& subject : rule.subjects) {
        if (subject.kind != Subject::Kind::kNothing) AddRules(rule, order, RulesOf(subject));
      }
    }
  }
}

Classifier::SubjectRules& Classifier::RulesOf(const Subject& subject) {
  const bool all = subject.name == "*";
  switch (subject.kind) {
    case Subject::Kind::kUser:
      return all ? everybody_ : users_[subject.name];
    case Subject::Kind::kGroup:
      return all ? everybody_ : groups_[subject.name];
    default:
      return all ? namespaces_[subject.ns]
                 : users_[base::StrCat(kServiceAccount, subject.ns, ":", subject.name)];
  }
}

void Classifier::AddRules(const PolicyRule& rule, std::size_t order, SubjectRules& out) {
  for (const ResourceRule& resource : rule.resources) {
    const Entry entry{order, &resource, nullptr};
    if (resource.resources.all) {
      out.all_resources.push_back(entry);
      continue;
    }
    for (const std::string& name : resource.resources.names) {
      out.by_resource[name].push_back(entry);
    }
  }
  for (const PathRule& path : rule.paths) out.paths.push_back({order, nullptr, &path});
}

std::size_t Classifier::Find(const RequestFacts& facts) const {
  std::size_t best = count_;
  std::string with_subresource;
  std::string_view resource = facts.resource;
  if (!facts.subresource.empty()) {
    with_subresource = base::StrCat(facts.resource, "/", facts.subresource);
    resource = with_subresource;
  }
  const auto look = [&](const Table<SubjectRules>& table, std::string_view subject) {
    if (best == 0 || table.empty()) return;
    if (const auto found = table.find(subject); found != table.end()) {
      Look(found->second, facts, resource, best);
    }
  };
  for (const std::string& group : facts.user->groups) look(groups_, group);
  look(users_, facts.user->name);
  if (const auto ns = NamespaceOf(facts.user->name)) look(namespaces_, *ns);
  Look(everybody_, facts, resource, best);
  return best;
}

void Classifier::Look(const SubjectRules& rules, const RequestFacts& facts,
                      std::string_view resource, std::size_t& best) {
  if (!facts.is_resource) {
    Look(rules.paths, facts, best);
    return;
  }
  Look(rules.all_resources, facts, best);
  if (rules.by_resource.empty()) return;
  if (const auto found = rules.by_resource.find(resource); found != rules.by_resource.end()) {
    Look(found->second, facts, best);
  }
}

void Classifier::Look(const std::vector<Entry>& entries, const RequestFacts& facts,
                      std::size_t& best) {
  for (const Entry& entry : entries) {
    if (entry.order >= best) return;
    const bool matches = entry.path != nullptr ? entry.path->Matches(facts.verb, facts.path)
                                               : Matches(*entry.resource, facts);
    if (matches) best = entry.order;
  }
}

}  // namespace portcullis::flow_control
