// SPDX-License-Identifier: Apache-2.0

#include "authz/abac/abac.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "json/reader.h"

namespace portcullis::authz::abac {
namespace {

struct Policy {
  std::string user;
  std::string group;
  std::string ns;
  std::string resource;
  std::string api_group;
  std::string path;
  bool readonly = false;
};

// A policy for `*` means every authenticated user, not anonymous ones.
void MeanAuthenticated(Policy& policy) {
  policy.user.clear();
  policy.group = api::kGroupAuthenticated;
}

Policy ReadPolicy(json::Value spec) {
  Policy policy;
  policy.user = spec["user"].AsString();
  policy.group = spec["group"].AsString();
  policy.ns = spec["namespace"].AsString();
  policy.resource = spec["resource"].AsString();
  policy.api_group = spec["apiGroup"].AsString();
  policy.path = spec["nonResourcePath"].AsString();
  policy.readonly = spec["readonly"].AsBool();
  if (policy.user == "*" || policy.group == "*") MeanAuthenticated(policy);
  return policy;
}

// Without kind and version: what is left out means everything.
Policy ReadOldPolicy(json::Value line) {
  Policy policy = ReadPolicy(line);
  policy.api_group = "*";
  policy.path = policy.ns.empty() && policy.resource.empty() ? "*" : "";
  if (policy.user.empty() && policy.group.empty()) MeanAuthenticated(policy);
  if (policy.ns.empty()) policy.ns = "*";
  if (policy.resource.empty()) policy.resource = "*";
  return policy;
}

bool Is(std::string_view pattern, std::string_view text) {
  return pattern == "*" || pattern == text;
}

bool MatchesSubject(const Policy& policy, const api::UserInfo& user) {
  if (!policy.user.empty() && policy.user != user.name) return false;
  if (!policy.group.empty() && !user.InGroup(policy.group)) return false;
  return !policy.user.empty() || !policy.group.empty();
}

bool MatchesPath(const Policy& policy, std::string_view path) {
  if (Is(policy.path, path)) return true;
  std::string_view prefix = policy.path;
  if (!prefix.ends_with('*')) return false;
  while (prefix.ends_with('*')) prefix.remove_suffix(1);
  return path.starts_with(prefix);
}

bool Matches(const Policy& policy, const Attributes& a) {
  if (!MatchesSubject(policy, *a.user)) return false;
  const bool reads = a.verb == "get" || a.verb == "list" || a.verb == "watch";
  if (policy.readonly && !reads) return false;
  if (!a.resource_request) return MatchesPath(policy, a.path);
  return Is(policy.ns, a.ns) && Is(policy.resource, a.resource) && Is(policy.api_group, a.group);
}

class Abac final : public Authorizer {
 public:
  explicit Abac(std::vector<Policy> policies) : policies_(std::move(policies)) {}

  Decision Authorize(const Attributes& attributes) const override {
    const bool allowed = std::any_of(policies_.begin(), policies_.end(), [&](const Policy& policy) {
      return Matches(policy, attributes);
    });
    if (allowed) return {Verdict::kAllowed, "", ""};
    return {Verdict::kNoOpinion, "No policy matched.", ""};
  }

  Rules RulesFor(const api::UserInfo& user, std::string_view ns) const override {
    Rules rules;
    for (const Policy& policy : policies_) {
      if (!MatchesSubject(policy, user) || !Is(policy.ns, ns)) continue;
      const std::vector<std::string> verbs = policy.readonly
                                                 ? std::vector<std::string>{"get", "list", "watch"}
                                                 : std::vector<std::string>{"*"};
      if (!policy.resource.empty()) {
        rules.resource_rules.push_back({verbs, {policy.api_group}, {policy.resource}, {}});
      }
      if (!policy.path.empty()) rules.non_resource_rules.push_back({verbs, {policy.path}});
    }
    return rules;
  }

 private:
  const std::vector<Policy> policies_;
};

}  // namespace

base::Result<std::unique_ptr<Authorizer>> Parse(std::string_view text, std::string_view path) {
  std::vector<Policy> policies;
  int number = 0;
  for (std::string_view line : base::Split(text, '\n')) {
    ++number;
    const std::string_view trimmed = base::Trim(line);
    if (trimmed.empty() || trimmed.starts_with('#')) continue;
    json::Arena arena;
    const auto parsed = json::Parse(arena, arena.Copy(line));
    if (!parsed.ok()) {
      return base::ConfigError(base::StrCat("error reading policy file ", path, ", line ",
                                            std::to_string(number), ": ", line, ": ",
                                            parsed.status().message()));
    }
    const bool versioned =
        (*parsed)["kind"].AsString() == "Policy" &&
        (*parsed)["apiVersion"].AsString() == "abac.authorization.kubernetes.io/v1beta1";
    policies.push_back(versioned ? ReadPolicy((*parsed)["spec"]) : ReadOldPolicy(*parsed));
  }
  return std::unique_ptr<Authorizer>(std::make_unique<Abac>(std::move(policies)));
}

}  // namespace portcullis::authz::abac
