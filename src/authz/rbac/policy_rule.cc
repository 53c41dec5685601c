// SPDX-License-Identifier: Apache-2.0

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

}  // namespace

bool HasUrl(const std::vector<std::string>& list, std::string_view url) {
  for (const std::string& pattern : list) {
    if (pattern == "*" || pattern == url) return true;
    if (!pattern.ends_with('*')) continue;
    std::string_view prefix = pattern;
    while (prefix.ends_with('*')) prefix.remove_suffix(1);
    if (url.starts_with(prefix)) return true;
  }
  return false;
}

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
