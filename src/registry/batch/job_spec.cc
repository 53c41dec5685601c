// SPDX-License-Identifier: Apache-2.0

#include "registry/batch/job_spec.h"

#include "api/named_value.h"
#include "base/strings.h"
#include "registry/batch/job_policies.h"
#include "registry/pods/pod_parts.h"
#include "registry/validation/go_diff.h"

namespace portcullis::registry {
namespace {

constexpr std::int64_t kManyCompletions = 100000;
constexpr std::int64_t kMostForManyCompletions = 10000;
constexpr std::int64_t kMostIndexes = 100000;  // parallelism, failed indexes

void CheckIndexed(json::Value spec, const FieldPath& path, FieldErrors& errors) {
  const json::Value completions = spec["completions"];
  const json::Value failed = spec["maxFailedIndexes"];
  const auto at_most = [&](std::string_view field, std::int64_t limit, std::string_view more) {
    if (spec[field].AsInt() <= limit) return;
    errors.push_back(
        api::Invalid(path.Child(field), spec[field].AsInt(),
                     base::StrCat("must be less than or equal to ", std::to_string(limit), more)));
  };
  if (completions.is_null()) {
    errors.push_back(api::Required(path.Child("completions"), "when completion mode is Indexed"));
  }
  at_most("parallelism", kMostIndexes, " when completion mode is Indexed");
  if (!completions.is_null() && !failed.is_null() && failed.AsInt() > completions.AsInt()) {
    errors.push_back(api::Invalid(path.Child("maxFailedIndexes"), failed.AsInt(),
                                  "must be less than or equal to completions"));
  }
  at_most("maxFailedIndexes", kMostIndexes, "");
  if (completions.AsInt() <= kManyCompletions || spec["backoffLimitPerIndex"].is_null()) return;
  if (failed.is_null()) {
    errors.push_back(api::Required(path.Child("maxFailedIndexes"),
                                   "must be specified when completions is above 100000"));
  }
  for (const std::string_view field : {"parallelism", "maxFailedIndexes"}) {
    at_most(field, kMostForManyCompletions,
            " when completions are above 100000 and used with backoff limit per index");
  }
}

void CheckManagedBy(json::Value value, const FieldPath& path, FieldErrors& errors) {
  if (value.is_null()) return;
  const std::string_view text = value.AsString();
  CheckDomainPrefixedPath(text, path, errors);
  if (text.size() > 63) errors.push_back(api::TooLong(path, 63));
}

}  // namespace

void CheckJobSpec(const Context& ctx, json::Value spec, json::Value old, const FieldPath& path,
                  FieldErrors& errors) {
  for (const std::string_view field :
       {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
        "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"}) {
    CheckNonNegative(spec[field], path.Child(field), errors);
  }
  if (!spec["maxFailedIndexes"].is_null() && spec["backoffLimitPerIndex"].is_null()) {
    errors.push_back(
        api::Required(path.Child("backoffLimitPerIndex"), "when maxFailedIndexes is specified"));
  }
  CheckManagedBy(spec["managedBy"], path.Child("managedBy"), errors);
  const std::string_view mode = spec["completionMode"].AsString();
  if (!spec["completionMode"].is_null() && mode != "NonIndexed" && mode != "Indexed") {
    errors.push_back(api::NotSupported(path.Child("completionMode"), api::NamedValue(mode),
                                       {"NonIndexed", "Indexed"}));
  }
  if (mode == "Indexed") {
    CheckIndexed(spec, path, errors);
  } else if (spec["completionMode"].is_null() || mode == "NonIndexed") {
    for (const std::string_view field : {"backoffLimitPerIndex", "maxFailedIndexes"}) {
      if (spec[field].is_null()) continue;
      errors.push_back(
          api::Invalid(path.Child(field), spec[field].AsInt(), "requires indexed completion mode"));
    }
  }
  CheckPodFailurePolicy(spec, path.Child("podFailurePolicy"), errors);
  if (const json::Value policy = spec["successPolicy"]; !policy.is_null()) {
    if (mode == "Indexed") {
      CheckSuccessPolicy(spec, path.Child("successPolicy"), errors);
    } else {
      errors.push_back(api::Invalid(path.Child("successPolicy"),
                                    GoValue(ctx, "io.k8s.api.batch.v1.SuccessPolicy", policy),
                                    "requires indexed completion mode"));
    }
  }
  if (!spec["podReplacementPolicy"].is_null()) {
    const FieldPath at = path.Child("podReplacementPolicy");
    if (spec["podFailurePolicy"].is_null()) {
      CheckOneOf(spec["podReplacementPolicy"], at, {"Failed", "TerminatingOrFailed"}, errors);
    } else {
      CheckOneOf(spec["podReplacementPolicy"], at, {"Failed"}, errors);
    }
  }
  ValidatePodTemplate(ctx, spec["template"], old["template"], path.Child("template"), errors);
  const std::string_view policy = spec["template"]["spec"]["restartPolicy"].AsString();
  const FieldPath policy_path = path.Child("template", "spec", "restartPolicy");
  if (policy.empty() || policy == "Always") {
    errors.push_back(api::Required(policy_path, "valid values: \"OnFailure\", \"Never\""));
  } else if (policy != "OnFailure" && policy != "Never") {
    errors.push_back(
        api::NotSupported(policy_path, api::NamedValue(policy), {"OnFailure", "Never"}));
  } else if (!spec["podFailurePolicy"].is_null() && policy != "Never") {
    errors.push_back(api::Invalid(
        policy_path, policy, "only \"Never\" is supported when podFailurePolicy is specified"));
  }
}

void WarnOfJobSpec(json::Value spec, const FieldPath& path, std::vector<std::string>& warnings) {
  if (spec["completionMode"].AsString() != "Indexed" ||
      spec["completions"].AsInt() <= kManyCompletions ||
      spec["parallelism"].AsInt() <= kMostForManyCompletions) {
    return;
  }
  warnings.push_back(base::StrCat(
      path.ToString(),
      ": In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher "
      "than 10^4, Kubernetes might not be able to track completedIndexes when a big number of "
      "indexes fail"));
}

}  // namespace portcullis::registry
