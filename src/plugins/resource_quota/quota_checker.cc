// SPDX-License-Identifier: Apache-2.0

// The order of the checks is that of the contract, for the first failure is what the client sees:
// quotas that cannot be judged, containers that leave something out, amounts that are negative,
// resources that need a quota and have none, and at last amounts that do not fit.
#include "plugins/resource_quota/quota_checker.h"

#include <algorithm>
#include <set>
#include <utility>

#include "admission/errors.h"
#include "base/strings.h"

namespace portcullis::plugins::resource_quota {

using api::quota::Evaluator;
using api::quota::Resources;
using api::quota::ResourcesText;
using api::quota::ScopeSelector;

// A quota that speaks of the object, and what it is to be charged.
struct QuotaChecker::Pertinent {
  RunningQuota* quota;
  Resources delta;
};

// What needs a quota by configuration, and what quotas cover.
struct QuotaChecker::Coverage {
  std::set<std::string> wanted_names;
  std::vector<ScopeSelector> wanted_scopes;
  std::set<std::string> covered_names;
  std::set<std::string> covered_scopes;
};

namespace {

void RemoveZeros(Resources& resources) {
  for (auto at = resources.begin(); at != resources.end();) {
    at = at->second.is_zero() ? resources.erase(at) : std::next(at);
  }
}

std::string JoinNames(const std::set<std::string>& names) { return base::Join(names, ","); }

bool ContainsAny(const std::string& name, const std::vector<std::string>& pieces) {
  return std::any_of(pieces.begin(), pieces.end(), [&](const std::string& piece) {
    return name.find(piece) != std::string::npos;
  });
}

Resources Only(const Resources& all, const std::set<std::string>& names) {
  Resources out;
  for (const auto& [name, amount] : all) {
    if (names.contains(name)) out.emplace(name, amount);
  }
  return out;
}

// Whether the quota knows how much is in use of each name.
bool KnowsUseOf(const RunningQuota& quota, const std::vector<std::string>& names) {
  return std::all_of(names.begin(), names.end(),
                     [&](const std::string& name) { return quota.used.contains(name); });
}

base::Status Exceeded(const admission::Request& request, const RunningQuota& quota,
                      const Resources& requested, const std::set<std::string>& names) {
  return admission::Forbidden(request,
                              base::StrCat("exceeded quota: ", quota.name(),
                                           ", requested: ", ResourcesText(Only(requested, names)),
                                           ", used: ", ResourcesText(Only(quota.used, names)),
                                           ", limited: ", ResourcesText(Only(quota.hard, names))));
}

// Adds the delta to the quota if it fits.
base::Status AddTo(const admission::Request& request, RunningQuota& quota, const Resources& delta) {
  Resources requested;
  for (const auto& [name, amount] : delta) {
    if (quota.hard.contains(name)) requested.emplace(name, amount);
  }
  if (requested.empty()) return base::OkStatus();
  Resources used = quota.used;
  api::quota::Add(used, requested);
  std::set<std::string> exceeded;
  // A status tells what has happened already: it is counted, not refused.
  if (request.subresource() != "status") {
    for (const auto& [name, amount] : requested) {
      if (used[name] > quota.hard[name]) exceeded.insert(name);
    }
  }
  if (!exceeded.empty()) return Exceeded(request, quota, requested, exceeded);
  quota.used = std::move(used);
  quota.charged = true;
  return base::OkStatus();
}

}  // namespace

RunningQuota::RunningQuota(store::ObjectPtr object)
    : stored(std::move(object)),
      hard(api::quota::ReadResources(value()["status"]["hard"])),
      used(api::quota::ReadResources(value()["status"]["used"])) {}

base::Result<QuotaChecker::Coverage> QuotaChecker::LimitsFor(const admission::Request& request,
                                                             const Evaluator& evaluator,
                                                             const Resources& usage) const {
  Coverage coverage;
  for (const LimitedResource& limited : limited_) {
    for (const ScopeSelector& scope : limited.match_scopes) {
      if (TRY(evaluator.MatchesScope(scope, request.object()))) {
        coverage.wanted_scopes.push_back(scope);
      }
    }
    if (!request.IsResource(limited.api_group, limited.resource)) continue;
    for (const auto& [name, amount] : usage) {
      if (amount.Sign() > 0 && ContainsAny(name, limited.match_contains)) {
        coverage.wanted_names.insert(name);
      }
    }
  }
  return coverage;
}

base::Result<std::vector<QuotaChecker::Pertinent>> QuotaChecker::FindPertinent(
    const admission::Request& request, const Evaluator& evaluator,
    std::vector<RunningQuota>& quotas, Coverage& coverage) const {
  std::vector<Pertinent> out;
  for (RunningQuota& quota : quotas) {
    for (const ScopeSelector& scope : api::quota::ScopeSelectorsOf(quota.value())) {
      const base::Result<bool> matches = evaluator.MatchesScope(scope, request.object());
      if (!matches.ok()) {
        return admission::PlainError(base::StrCat(
            "error matching scopes of quota ", quota.name(), ", err: error on matching scope ",
            ScopeSelectorText(scope), ": ", matches.status().message()));
      }
      if (*matches) coverage.covered_scopes.insert(scope.scope);
    }
    if (!TRY(api::quota::Matches(evaluator, quota.value(), request.object()))) continue;
    const std::vector<std::string> names = api::quota::MatchingNames(evaluator, quota.hard);
    const std::string missing = evaluator.MissingFrom(request.object(), names);
    if (!missing.empty()) {
      return admission::Forbidden(request,
                                  base::StrCat("failed quota: ", quota.name(), ": ", missing));
    }
    if (!KnowsUseOf(quota, names)) {
      return admission::Forbidden(
          request, base::StrCat("status unknown for quota: ", quota.name(),
                                ", resources: ", JoinNames({names.begin(), names.end()})));
    }
    coverage.covered_names.insert(names.begin(), names.end());
    out.push_back({&quota, {}});
  }
  return out;
}

base::Status QuotaChecker::ComputeDeltas(const admission::Request& request,
                                         const Evaluator& evaluator,
                                         std::vector<Pertinent>& pertinent, Resources& most) const {
  const Resources usage = evaluator.Usage(request.object());
  std::set<std::string> negative;
  for (const auto& [name, amount] : usage) {
    if (amount.Sign() < 0) negative.insert(name);
  }
  if (!negative.empty()) {
    return admission::Forbidden(request,
                                "quota usage is negative for resource(s): " + JoinNames(negative));
  }
  const json::Value old = request.old_object();
  const bool is_update = request.operation() == admission::kUpdate;
  if (is_update && old.is_null()) {
    return admission::Forbidden(
        request, "unable to get previous usage since prior version of object was not found");
  }
  // Without a resourceVersion the old object was never stored: the update creates.
  const bool had_usage = is_update && !old["metadata"]["resourceVersion"].AsString().empty();
  const Resources before = had_usage ? evaluator.Usage(old) : Resources{};
  auto growth = [&] {
    Resources grown = usage;
    for (auto& [name, amount] : grown) {
      auto found = before.find(name);
      if (found == before.end()) continue;
      amount.Sub(found->second);
      if (amount.Sign() < 0) amount = api::Quantity();
    }
    return grown;
  };
  const Resources grown = had_usage ? growth() : usage;
  for (Pertinent& each : pertinent) {
    bool charge_growth = had_usage;
    if (had_usage && charges_by_old_scope_) {
      charge_growth = TRY(api::quota::Matches(evaluator, each.quota->value(), old));
    }
    each.delta = charge_growth ? grown : usage;
    RemoveZeros(each.delta);
    api::quota::TakeMax(most, each.delta);
  }
  if (pertinent.empty()) most = grown;
  RemoveZeros(most);
  return base::OkStatus();
}

base::Status QuotaChecker::Charge(const admission::Request& request, const Evaluator& evaluator,
                                  std::vector<RunningQuota>& quotas, bool& charged) const {
  charged = false;
  Coverage coverage;
  if (!limited_.empty()) {
    auto limits = LimitsFor(request, evaluator, evaluator.Usage(request.object()));
    // What the configuration says cannot be judged: Kubernetes lets everything pass.
    if (!limits.ok()) return base::OkStatus();
    coverage = *std::move(limits);
  }
  std::vector<Pertinent> pertinent = TRY(FindPertinent(request, evaluator, quotas, coverage));
  Resources most;
  TRY(ComputeDeltas(request, evaluator, pertinent, most));
  if (most.empty()) return base::OkStatus();

  std::set<std::string> uncovered;
  for (const std::string& name : coverage.wanted_names) {
    if (!coverage.covered_names.contains(name)) uncovered.insert(name);
  }
  if (!uncovered.empty()) {
    return admission::Forbidden(request, "insufficient quota to consume: " + JoinNames(uncovered));
  }
  std::vector<std::string> uncovered_scopes;
  for (const ScopeSelector& scope : coverage.wanted_scopes) {
    if (!coverage.covered_scopes.contains(scope.scope)) {
      uncovered_scopes.push_back(ScopeSelectorText(scope));
    }
  }
  if (!uncovered_scopes.empty()) {
    return admission::PlainError(base::StrCat("insufficient quota to match these scopes: [",
                                              base::Join(uncovered_scopes, " "), "]"));
  }

  // All or nothing: copies are charged first.
  std::vector<RunningQuota> after;
  for (const Pertinent& each : pertinent) {
    after.push_back(*each.quota);
    after.back().charged = false;
    TRY(AddTo(request, after.back(), each.delta));
  }
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (!after[i].charged) continue;
    charged = true;
    if (!request.dry_run()) *pertinent[i].quota = std::move(after[i]);
  }
  return base::OkStatus();
}

}  // namespace portcullis::plugins::resource_quota
