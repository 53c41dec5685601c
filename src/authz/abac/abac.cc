// SPDX-License-Identifier: Apache-2.0

#include "authz/abac/abac.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "api/names.h"
#include "api/schema/decode.h"
#include "api/schema/go_types.h"
#include "api/schema/type_meta.h"
#include "base/strings.h"

namespace portcullis::authz::abac {
namespace {

constexpr std::string_view kScheme = "pkg/apis/abac/register.go:33";
constexpr std::string_view kNewVersion = "abac.authorization.kubernetes.io/v1beta1";
constexpr std::string_view kOldVersion = "abac.authorization.kubernetes.io/v0";
constexpr std::string_view kNewTypes = R"(
v1beta1.Policy: kind string, apiVersion string, spec v1beta1.PolicySpec
v1beta1.PolicySpec: user string, group string, readonly bool, apiGroup string, resource string, namespace string, nonResourcePath string)";
constexpr std::string_view kOldTypes =
    "v0.Policy: kind string, apiVersion string, user string, group string, readonly bool, resource "
    "string, namespace string";

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

// The old version, which is that of a line without one: what is left out means everything.
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

// Whether a line is of one of the two versions; one that says neither is of the old one. A version
// that is misspelt must not pass for it, since there what is left out means everything.
base::Result<std::string_view> VersionOf(json::Value line) {
  const std::string_view kind = line["kind"].AsString();
  const std::string_view given = line["apiVersion"].AsString();
  TRY(api::ParseGroupVersion(given));
  const std::string_view version = given.empty() ? kOldVersion : given;
  if (version == kNewVersion && kind.empty()) {
    return base::ConfigError("converting (v1beta1.Policy) to (v0.Policy): unknown conversion");
  }
  const bool is_known = version == kNewVersion || version == kOldVersion;
  if (is_known && (kind.empty() || kind == "Policy")) return version;
  return base::ConfigError(
      api::schema::NotRegistered(kind.empty() ? "Policy" : kind, version, kScheme));
}

base::Result<Policy> ParseLine(std::string_view line) {
  json::Arena arena;
  const json::Value parsed = TRY(api::schema::ParseWithTypeMeta(arena, line));
  const bool is_old = TRY(VersionOf(parsed)) == kOldVersion;
  const auto types = api::schema::SchemaOfGoTypes(is_old ? kOldTypes : kNewTypes);
  TRY(api::schema::Decode(arena, *types, parsed));
  return is_old ? ReadOldPolicy(parsed) : ReadPolicy(parsed["spec"]);
}

}  // namespace

base::Result<std::unique_ptr<Authorizer>> Parse(std::string_view text, std::string_view path) {
  std::vector<Policy> policies;
  int number = 0;
  for (std::string_view line : base::Split(text, '\n')) {
    ++number;
    const std::string_view trimmed = base::Trim(line);
    if (trimmed.empty() || trimmed.starts_with('#')) continue;
    auto policy = ParseLine(line);
    if (!policy.ok()) {
      return base::ConfigError(base::StrCat("error reading policy file ", path, ", line ",
                                            std::to_string(number), ": ", line, ": ",
                                            policy.status().message()));
    }
    policies.push_back(std::move(*policy));
  }
  return std::unique_ptr<Authorizer>(std::make_unique<Abac>(std::move(policies)));
}

}  // namespace portcullis::authz::abac
