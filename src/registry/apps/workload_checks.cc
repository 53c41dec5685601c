// SPDX-License-Identifier: Apache-2.0

#include "registry/apps/workload_checks.h"

#include "api/named_value.h"
#include "api/selector/label_selector.h"
#include "base/strings.h"
#include "registry/pods/pod_parts.h"

namespace portcullis::registry {

std::string EmptySelectorText(const Context& ctx, std::string_view kind) {
  if (!ctx.release->Has("WorkloadsAreCheckedAsOfOld")) {
    return base::StrCat("empty selector is invalid for ", kind);
  }
  return base::StrCat("empty selector is not valid for ", kind, ".");
}

void CheckWorkloadSelector(const Context& ctx, json::Value spec, std::string_view kind,
                           FieldErrors& errors) {
  const FieldPath path("spec", "selector");
  const json::Value selector = spec["selector"];
  if (selector.is_null()) {
    errors.push_back(api::Required(path, ""));
    return;
  }
  CheckLabelSelector(selector, path, errors);
  if (selector["matchLabels"].empty() && selector["matchExpressions"].empty()) {
    errors.push_back(api::Invalid(path, selector, EmptySelectorText(ctx, kind)));
  }
}

void CheckSelectorStays(const Context& ctx, json::Value object, json::Value old,
                        FieldErrors& errors) {
  if (ctx.resource.version == "v1beta1") return;
  CheckImmutable(object["spec"]["selector"], old["spec"]["selector"], FieldPath("spec", "selector"),
                 errors);
}

api::FieldError TemplateDoesNotMatch(const Context& ctx, json::Value spec) {
  json::Value labels = spec["template"]["metadata"]["labels"];
  // An empty map that was sent is quoted as one, though decoding has dropped it.
  if (labels.is_null()) labels = ctx.sent["spec"]["template"]["metadata"]["labels"];
  return api::Invalid(FieldPath("spec", "template", "metadata", "labels"), labels,
                      "`selector` does not match template `labels`");
}

bool CheckTemplateMatches(const Context& ctx, json::Value spec, std::string_view unreadable,
                          FieldErrors& errors) {
  const auto selector = api::LabelSelector::FromJson(spec["selector"]);
  if (!selector.ok()) {
    errors.push_back(api::Invalid(FieldPath("spec", "selector"), spec["selector"], unreadable));
    return false;
  }
  const json::Value labels = spec["template"]["metadata"]["labels"];
  if (!selector->is_everything() && !selector->Matches(labels)) {
    errors.push_back(TemplateDoesNotMatch(ctx, spec));
  }
  return true;
}

void CheckAlwaysRestarts(json::Value pod_template, std::string_view kind, FieldErrors& errors) {
  const FieldPath path("spec", "template", "spec");
  if (const std::string_view policy = pod_template["spec"]["restartPolicy"].AsString();
      policy != "Always") {
    errors.push_back(
        api::NotSupported(path.Child("restartPolicy"), api::NamedValue(policy), {"Always"}));
  }
  if (!pod_template["spec"]["activeDeadlineSeconds"].is_null()) {
    errors.push_back(
        api::Forbidden(path.Child("activeDeadlineSeconds"),
                       base::StrCat("activeDeadlineSeconds in ", kind, " is not Supported")));
  }
}

void CheckReplicaTemplate(const Context& ctx, json::Value spec, json::Value old,
                          FieldErrors& errors) {
  if (!CheckTemplateMatches(ctx, spec, "invalid label selector", errors)) return;
  ValidatePodTemplate(ctx, spec["template"], old["template"], FieldPath("spec", "template"),
                      errors);
  CheckAlwaysRestarts(spec["template"], "ReplicaSet", errors);
}

std::int64_t NumberOrPercent(json::Value value) {
  if (const auto percent = PercentOf(value)) return *percent;
  return value.is_string() ? base::ParseInt(value.AsString()).value_or(0) : value.AsInt();
}

void CheckAtMostHundredPercent(json::Value value, const FieldPath& path, FieldErrors& errors) {
  const auto percent = PercentOf(value);
  if (percent && *percent > 100) {
    errors.push_back(api::Invalid(path, value, "must not be greater than 100%"));
  }
}

void CheckStatusCounts(json::Value status, std::initializer_list<std::string_view> fields,
                       FieldErrors& errors) {
  for (const std::string_view field : fields) {
    CheckNonNegative(status[field], FieldPath("status", field), errors);
  }
}

void CheckStatusAtMost(json::Value status, std::string_view field, std::string_view limit,
                       std::string_view text, FieldErrors& errors) {
  if (status[field].AsInt() <= status[limit].AsInt()) return;
  errors.push_back(api::Invalid(FieldPath("status", field), status[field].AsInt(), text));
}

void CheckCollisionCount(json::Value status, json::Value old, FieldErrors& errors) {
  const json::Value before = old["collisionCount"];
  const std::int64_t now = status["collisionCount"].AsInt();
  const bool is_kept = !status["collisionCount"].is_null() && now >= before.AsInt();
  if (before.is_null() || is_kept) return;
  errors.push_back(
      api::Invalid(FieldPath("status", "collisionCount"), now, "cannot be decremented"));
}

void CheckReplicaStatus(json::Value status, FieldErrors& errors) {
  CheckStatusCounts(status,
                    {"replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas",
                     "terminatingReplicas", "observedGeneration"},
                    errors);
  CheckStatusAtMost(status, "fullyLabeledReplicas", "replicas", kMoreThanReplicas, errors);
  CheckStatusAtMost(status, "readyReplicas", "replicas", kMoreThanReplicas, errors);
  CheckStatusAtMost(status, "availableReplicas", "replicas", kMoreThanReplicas, errors);
  CheckStatusAtMost(status, "availableReplicas", "readyReplicas",
                    "cannot be greater than readyReplicas", errors);
}

}  // namespace portcullis::registry
