#include "authz/rbac/policy_rule.h"

#include <algorithm>

#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::authz::rbac {
namespace {

using Strings = std::vector<std::string>;

bool Has(const Strings& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

bool HasAll(const Strings& list, const Strings& items) {
  return std::all_of(items.begin(), items.end(), [&](const auto& item) { return Has(list, item); });
}

Strings TextsOf(json::Value list) {
  Strings texts;
  for (json::Value item : list.elements()) texts.emplace_back(item.AsString());
  return texts;
}

// `combined` is "pods" or "pods/log"; "*/log" stands for every resource with that subresource.
bool HasResource(const Strings& list, std::string_view combined, std::string_view subresource) {
  for (const std::string& resource : list) {
    if (resource == "*" || resource == combined) return true;
    if (!subresource.empty() && resource.size() == subresource.size() + 2 &&
        resource.starts_with("*/") && resource.ends_with(subresource)) {
      return true;
    }
  }
  return false;
}

bool HasUrl(const Strings& list, std::string_view url) {
  for (const std::string& pattern : list) {
    if (pattern == "*" || pattern == url) return true;
    if (!pattern.ends_with('*')) continue;
    std::string_view prefix = pattern;
    while (prefix.ends_with('*')) prefix.remove_suffix(1);
    if (url.starts_with(prefix)) return true;
  }
  return false;
}

// Whether one rule contains all of another one that names a single permission.
bool Covers(const PolicyRule& owner, const PolicyRule& wanted) {
  if (!Has(owner.verbs, "*") && !HasAll(owner.verbs, wanted.verbs)) return false;
  if (!wanted.non_resource_urls.empty()) {
    return std::all_of(wanted.non_resource_urls.begin(), wanted.non_resource_urls.end(),
                       [&](const auto& url) { return HasUrl(owner.non_resource_urls, url); });
  }
  if (!Has(owner.api_groups, "*") && !HasAll(owner.api_groups, wanted.api_groups)) return false;
  for (const std::string& resource : wanted.resources) {
    const std::size_t slash = resource.find('/');
    const std::string subresource = slash == std::string::npos ? "" : resource.substr(slash + 1);
    if (!HasResource(owner.resources, resource, subresource)) return false;
  }
  if (owner.resource_names.empty()) return true;
  return !wanted.resource_names.empty() && HasAll(owner.resource_names, wanted.resource_names);
}

// Calls `visit` with each single permission of a rule.
template <typename Visit>
void BreakDown(const PolicyRule& rule, Visit visit) {
  for (const std::string& group : rule.api_groups) {
    for (const std::string& resource : rule.resources) {
      for (const std::string& verb : rule.verbs) {
        if (rule.resource_names.empty()) visit(PolicyRule{{verb}, {group}, {resource}, {}, {}});
        for (const std::string& name : rule.resource_names) {
          visit(PolicyRule{{verb}, {group}, {resource}, {name}, {}});
        }
      }
    }
  }
  for (const std::string& url : rule.non_resource_urls) {
    for (const std::string& verb : rule.verbs) visit(PolicyRule{{verb}, {}, {}, {}, {url}});
  }
}

}  // namespace

std::vector<PolicyRule> RulesFromJson(json::Value rules) {
  std::vector<PolicyRule> out;
  for (json::Value rule : rules.elements()) {
    out.push_back({TextsOf(rule["verbs"]), TextsOf(rule["apiGroups"]), TextsOf(rule["resources"]),
                   TextsOf(rule["resourceNames"]), TextsOf(rule["nonResourceURLs"])});
  }
  return out;
}

json::Value RulesToJson(json::Arena& arena, const std::vector<PolicyRule>& rules) {
  json::ArrayBuilder out(arena);
  for (const PolicyRule& rule : rules) {
    json::ObjectBuilder one(arena);
    auto set = [&](std::string_view name, const Strings& texts) {
      if (texts.empty()) return;
      json::ArrayBuilder list(arena);
      for (const std::string& text : texts) list.Add(std::string_view(text));
      one.Set(name, list.Build());
    };
    // In the order of the Go type.
    set("verbs", rule.verbs);
    set("apiGroups", rule.api_groups);
    set("resources", rule.resources);
    set("resourceNames", rule.resource_names);
    set("nonResourceURLs", rule.non_resource_urls);
    out.Add(one.Build());
  }
  return out.Build();
}

bool Allows(const PolicyRule& rule, const Attributes& a) {
  if (!Has(rule.verbs, "*") && !Has(rule.verbs, a.verb)) return false;
  if (!a.resource_request) return HasUrl(rule.non_resource_urls, a.path);
  if (!Has(rule.api_groups, "*") && !Has(rule.api_groups, a.group)) return false;
  const bool matches =
      a.subresource.empty()
          ? HasResource(rule.resources, a.resource, {})
          : HasResource(rule.resources, base::StrCat(a.resource, "/", a.subresource),
                        a.subresource);
  return matches && (rule.resource_names.empty() || Has(rule.resource_names, a.name));
}

std::vector<PolicyRule> Uncovered(std::span<const PolicyRule> owned,
                                  std::span<const PolicyRule> wanted) {
  std::vector<PolicyRule> missing;
  for (const PolicyRule& rule : wanted) {
    BreakDown(rule, [&](PolicyRule single) {
      for (const PolicyRule& owner : owned) {
        if (Covers(owner, single)) return;
      }
      missing.push_back(std::move(single));
    });
  }
  return missing;
}

std::vector<PolicyRule> Compact(const std::vector<PolicyRule>& rules) {
  std::vector<PolicyRule> compact;
  for (const PolicyRule& rule : rules) {
    auto alike = std::find_if(compact.begin(), compact.end(), [&](const PolicyRule& other) {
      return rule.non_resource_urls.empty() && other.non_resource_urls.empty() &&
             other.api_groups == rule.api_groups && other.resources == rule.resources &&
             other.resource_names == rule.resource_names;
    });
    if (alike == compact.end()) {
      compact.push_back(rule);
      continue;
    }
    for (const std::string& verb : rule.verbs) {
      if (!Has(alike->verbs, verb)) alike->verbs.push_back(verb);
    }
  }
  return compact;
}

std::string Describe(const PolicyRule& rule) {
  std::vector<std::string> parts;
  auto add = [&](std::string_view name, const Strings& list) {
    if (!list.empty()) parts.push_back(base::StrCat(name, ":", base::GoQuotedList(list)));
  };
  add("APIGroups", rule.api_groups);
  add("Resources", rule.resources);
  add("NonResourceURLs", rule.non_resource_urls);
  add("ResourceNames", rule.resource_names);
  add("Verbs", rule.verbs);
  return base::StrCat("{", base::Join(parts, ", "), "}");
}

}  // namespace portcullis::authz::rbac
