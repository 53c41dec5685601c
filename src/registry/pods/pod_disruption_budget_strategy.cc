// SPDX-License-Identifier: Apache-2.0

// PodDisruptionBudgets (pkg/apis/policy/validation).

#include "registry/kind_table.h"
#include "registry/validation/conditions.h"

namespace portcullis::registry {
namespace {

void CheckPercent(json::Value value, const FieldPath& path, FieldErrors& errors) {
  if (value.is_null()) return;
  CheckIntOrPercent(value, path, errors);
  if (const auto percent = PercentOf(value); percent && *percent > 100) {
    errors.push_back(api::Invalid(path, value, "must not be greater than 100%"));
  }
}

void ValidatePodDisruptionBudget(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  const json::Value least = spec["minAvailable"];
  const json::Value most = spec["maxUnavailable"];
  if (!least.is_null() && !most.is_null()) {
    errors.push_back(api::Invalid(
        path,
        api::BadValue::Raw(
            StructJson({{"MinAvailable", Json(least)},
                        {"Selector", Json(spec["selector"])},
                        {"MaxUnavailable", Json(most)},
                        {"UnhealthyPodEvictionPolicy", Json(spec["unhealthyPodEvictionPolicy"])}})),
        "minAvailable and maxUnavailable cannot be both set"));
  }
  CheckPercent(least, path.Child("minAvailable"), errors);
  CheckPercent(most, path.Child("maxUnavailable"), errors);
  CheckLabelSelector(spec["selector"], path.Child("selector"), errors);
  if (const json::Value policy = spec["unhealthyPodEvictionPolicy"]; !policy.is_null()) {
    CheckOneOf(policy, path.Child("unhealthyPodEvictionPolicy"), {"AlwaysAllow", "IfHealthyBudget"},
               errors);
  }
}

void ValidateBudgetUpdate(const Context& ctx, json::Value object, json::Value,
                          FieldErrors& errors) {
  if (ctx.subresource.empty()) return ValidatePodDisruptionBudget(ctx, object, errors);
  const json::Value status = object["status"];
  const FieldPath path("status");
  ValidateConditions(status["conditions"], path.Child("conditions"), errors);
  for (const std::string_view field :
       {"disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"}) {
    CheckNonNegative(status[field], path.Child(field), errors);
  }
}

}  // namespace

void AddPodDisruptionBudgetStrategy(KindTable& table) {
  table.Add({.group = "policy",
             .resource = "poddisruptionbudgets",
             .validate = &ValidatePodDisruptionBudget,
             .validate_update = &ValidateBudgetUpdate,
             .traits = {.counts_generation = true,
                        .needs_version = true,
                        .free_finalizers = true,
                        .metadata_last = true,
                        .names = NameStyle::kPathSegment},
             .metadata = {.update = "", .subresource = ""}});
}

}  // namespace portcullis::registry
