// SPDX-License-Identifier: Apache-2.0

#include "audit/policy.h"

#include <algorithm>

#include "base/strings.h"

namespace portcullis::audit {
namespace {

bool Has(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// An empty list matches everything.
bool HasOrAny(const std::vector<std::string>& list, std::string_view item) {
  return list.empty() || Has(list, item);
}

bool MatchesUrl(std::string_view pattern, std::string_view path) {
  if (pattern == "*" || pattern == path) return true;
  if (!pattern.ends_with('*')) return false;
  while (pattern.ends_with('*')) pattern.remove_suffix(1);
  return path.starts_with(pattern);
}

// "pods", "pods/log", "*", "*/log" or "pods/*".
bool MatchesResource(std::string_view pattern, const RequestAttributes& r) {
  if (pattern == "*") return true;
  const auto parts = base::Cut(pattern, "/");
  if (!parts) return r.subresource.empty() && pattern == r.resource;
  const auto& [resource, subresource] = *parts;
  if (subresource == "*") return resource == r.resource;
  return !r.subresource.empty() && subresource == r.subresource &&
         (resource == "*" || resource == r.resource);
}

bool MatchesResources(const GroupResources& group, const RequestAttributes& r) {
  if (group.group != "*" && group.group != r.group) return false;
  if (group.resources.empty()) return true;
  if (!HasOrAny(group.resource_names, r.name)) return false;
  return std::any_of(group.resources.begin(), group.resources.end(),
                     [&](const std::string& pattern) { return MatchesResource(pattern, r); });
}

bool MatchesUser(const Rule& rule, const api::UserInfo* user) {
  if (!rule.users.empty() && (user == nullptr || !Has(rule.users, user->name))) return false;
  if (rule.user_groups.empty()) return true;
  return user != nullptr &&
         std::any_of(rule.user_groups.begin(), rule.user_groups.end(),
                     [&](const std::string& group) { return user->InGroup(group); });
}

bool Matches(const Rule& rule, const RequestAttributes& r) {
  if (!MatchesUser(rule, r.user) || !HasOrAny(rule.verbs, r.verb)) return false;
  if (!rule.namespaces.empty() || !rule.resources.empty()) {
    if (!r.resource_request || !HasOrAny(rule.namespaces, r.ns)) return false;
    return rule.resources.empty() ||
           std::any_of(rule.resources.begin(), rule.resources.end(),
                       [&](const GroupResources& group) { return MatchesResources(group, r); });
  }
  if (rule.non_resource_urls.empty()) return true;
  return !r.resource_request &&
         std::any_of(rule.non_resource_urls.begin(), rule.non_resource_urls.end(),
                     [&](const std::string& pattern) { return MatchesUrl(pattern, r.path); });
}

}  // namespace

std::string_view LevelText(Level level) {
  static constexpr std::string_view kTexts[] = {"None", "Metadata", "Request", "RequestResponse"};
  return kTexts[static_cast<std::size_t>(level)];
}

std::string_view StageText(Stage stage) {
  static constexpr std::string_view kTexts[] = {"RequestReceived", "ResponseStarted",
                                                "ResponseComplete", "Panic"};
  return kTexts[static_cast<std::size_t>(stage)];
}

Depth Policy::For(const RequestAttributes& request) const {
  for (const Rule& rule : rules_) {
    if (Matches(rule, request)) {
      return {rule.level, rule.omitted_stages, rule.omit_managed_fields};
    }
  }
  return {};
}

Policy PolicyOfWrites() {
  Rule rule;
  rule.level = Level::kRequest;
  rule.verbs = {"create", "update", "patch", "delete", "deletecollection"};
  for (const Stage stage : {Stage::kRequestReceived, Stage::kResponseStarted, Stage::kPanic}) {
    rule.omitted_stages =
        static_cast<std::uint8_t>(rule.omitted_stages | (1U << static_cast<unsigned>(stage)));
  }
  rule.omit_managed_fields = true;
  return Policy({rule});
}

}  // namespace portcullis::audit
