// SPDX-License-Identifier: Apache-2.0

#include "api/quota/evaluator.h"

#include <vector>

#include "api/quota/object_count.h"
#include "api/quota/persistent_volume_claims.h"
#include "api/quota/pods.h"
#include "api/quota/resource_claims.h"
#include "api/quota/services.h"
#include "base/strings.h"

namespace portcullis::api::quota {
namespace {

constexpr std::string_view kOwnRules[] = {
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourceclaims.resource.k8s.io",
    "resourcequotas",
    "secrets",
    "services",
};

}  // namespace

base::Result<bool> Evaluator::MatchesScope(const ScopeSelector&, json::Value) const {
  return false;
}

std::string Evaluator::MissingFrom(json::Value, std::span<const std::string>) const { return {}; }

std::optional<base::WallTime> Evaluator::UsageEndsAt(json::Value) const { return std::nullopt; }

std::unique_ptr<const Evaluator> MakeEvaluator(const GroupResource& resource,
                                               const EvaluatorOptions& options) {
  if (resource.group == "resource.k8s.io" && resource.resource == "resourceclaims" &&
      options.release.Has("ResourceQuotaCountsResourceClaims")) {
    return MakeResourceClaimsEvaluator(options);
  }
  if (resource.group.empty()) {
    if (resource.resource == "pods") return MakePodsEvaluator(options);
    if (resource.resource == "services") return MakeServicesEvaluator();
    if (resource.resource == "persistentvolumeclaims") {
      return MakePersistentVolumeClaimsEvaluator(options);
    }
  }
  return MakeObjectCountEvaluator(resource);
}

std::span<const std::string_view> ResourcesWithOwnRules() { return kOwnRules; }

base::Result<bool> Matches(const Evaluator& evaluator, json::Value quota, json::Value object) {
  bool named = false;
  for (const json::Member& member : quota["status"]["hard"].members()) {
    named = named || evaluator.MatchesName(member.name());
  }
  if (!named) return false;
  for (const ScopeSelector& selector : ScopeSelectorsOf(quota)) {
    if (!TRY(evaluator.MatchesScope(selector, object))) return false;
  }
  return true;
}

std::vector<std::string> MatchingNames(const Evaluator& evaluator, const Resources& hard) {
  std::vector<std::string> out;
  for (const auto& [name, amount] : hard) {
    if (evaluator.MatchesName(name)) out.push_back(name);
  }
  return out;
}

}  // namespace portcullis::api::quota
