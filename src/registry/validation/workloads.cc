// Kinds that make pods from a template (pkg/apis/apps/validation, pkg/apis/batch/validation).

#include <algorithm>

#include "api/selector/label_selector.h"
#include "base/strings.h"
#include "cel/library/time_zone.h"
#include "registry/validation/kinds.h"
#include "registry/validation/schedule.h"

namespace portcullis::registry {
namespace {

void Append(FieldErrors& errors, FieldErrors more) {
  errors.insert(errors.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
}

// The selector of an apps/v1 workload: required, well formed, not empty, matching the template.
void CheckWorkloadSelector(json::Value spec, std::string_view kind, FieldErrors& errors) {
  const FieldPath path("spec", "selector");
  const json::Value selector = spec["selector"];
  if (selector.is_null()) {
    errors.push_back(api::Required(path, ""));
    return;
  }
  Append(errors, api::ValidateLabelSelector(selector, path));
  if (selector["matchLabels"].empty() && selector["matchExpressions"].empty()) {
    errors.push_back(
        api::Invalid(path, selector, base::StrCat("empty selector is invalid for ", kind)));
  }
}

void CheckTemplateMatches(json::Value spec, FieldErrors& errors) {
  const auto selector = api::LabelSelector::FromJson(spec["selector"]);
  if (!selector.ok()) {
    errors.push_back(
        api::Invalid(FieldPath("spec", "selector"), spec["selector"], "invalid label selector"));
    return;
  }
  const json::Value labels = spec["template"]["metadata"]["labels"];
  if (!selector->is_everything() && !selector->is_nothing() && !selector->Matches(labels)) {
    errors.push_back(api::Invalid(FieldPath("spec", "template", "metadata", "labels"), labels,
                                  "`selector` does not match template `labels`"));
  }
}

void CheckWorkloadTemplate(json::Value spec, FieldErrors& errors) {
  CheckTemplateMatches(spec, errors);
  const FieldPath path("spec", "template");
  ValidatePodTemplate(spec["template"], path, errors);
  if (const std::string_view policy = spec["template"]["spec"]["restartPolicy"].AsString();
      policy != "Always") {
    errors.push_back(api::NotSupported(path.Child("spec", "restartPolicy"), policy, {"Always"}));
  }
  if (!spec["template"]["spec"]["activeDeadlineSeconds"].is_null()) {
    errors.push_back(api::Forbidden(path.Child("spec", "activeDeadlineSeconds"),
                                    "activeDeadlineSeconds in ReplicaSet is not Supported"));
  }
}

// maxUnavailable and maxSurge of a rolling update.
void CheckRollingUpdate(json::Value rolling, const FieldPath& path, FieldErrors& errors) {
  for (const std::string_view field : {"maxUnavailable", "maxSurge"}) {
    CheckIntOrPercent(rolling[field], path.Child(field), errors);
  }
  const auto zero = [&](std::string_view field) {
    const json::Value value = rolling[field];
    const auto percent = PercentOf(value);
    return percent ? *percent == 0 : value.AsInt() == 0 && !value.is_string();
  };
  if (zero("maxUnavailable") && zero("maxSurge")) {
    errors.push_back(api::Invalid(path.Child("maxUnavailable"), rolling["maxUnavailable"],
                                  "may not be 0 when `maxSurge` is 0"));
  }
  const auto percent = PercentOf(rolling["maxUnavailable"]);
  if (percent && *percent > 100) {
    errors.push_back(api::Invalid(path.Child("maxUnavailable"), rolling["maxUnavailable"],
                                  "must not be greater than 100%"));
  }
}

void CheckReplicaCommon(json::Value spec, FieldErrors& errors) {
  CheckNonNegative(spec["replicas"], FieldPath("spec", "replicas"), errors);
  CheckNonNegative(spec["minReadySeconds"], FieldPath("spec", "minReadySeconds"), errors);
}

}  // namespace

void ValidateDeployment(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  CheckNonNegative(spec["replicas"], path.Child("replicas"), errors);
  CheckWorkloadSelector(spec, "deployment", errors);
  CheckWorkloadTemplate(spec, errors);
  const json::Value strategy = spec["strategy"];
  const FieldPath strategy_path = path.Child("strategy");
  const std::string_view type = strategy["type"].AsString();
  if (type == "Recreate") {
    if (!strategy["rollingUpdate"].is_null()) {
      errors.push_back(api::Forbidden(strategy_path.Child("rollingUpdate"),
                                      "may not be specified when strategy `type` is 'Recreate'"));
    }
  } else if (type == "RollingUpdate") {
    if (strategy["rollingUpdate"].is_null()) {
      errors.push_back(api::Required(strategy_path.Child("rollingUpdate"),
                                     "this should be defaulted and never be nil"));
    } else {
      CheckRollingUpdate(strategy["rollingUpdate"], strategy_path.Child("rollingUpdate"), errors);
    }
  } else {
    CheckOneOf(strategy["type"], strategy_path, {"Recreate", "RollingUpdate"}, errors);
  }
  CheckNonNegative(spec["minReadySeconds"], path.Child("minReadySeconds"), errors);
  CheckNonNegative(spec["revisionHistoryLimit"], path.Child("revisionHistoryLimit"), errors);
  if (const json::Value seconds = spec["progressDeadlineSeconds"]; seconds.is_int()) {
    CheckNonNegative(seconds, path.Child("progressDeadlineSeconds"), errors);
    if (seconds.AsInt() <= spec["minReadySeconds"].AsInt()) {
      errors.push_back(api::Invalid(path.Child("progressDeadlineSeconds"), seconds.AsInt(),
                                    "must be greater than minReadySeconds"));
    }
  }
}

void ValidateDeploymentUpdate(const Context& ctx, json::Value object, json::Value old,
                              FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  ValidateDeployment(ctx, object, errors);
  CheckImmutable(object["spec"]["selector"], old["spec"]["selector"], FieldPath("spec", "selector"),
                 errors);
}

void ValidateReplicaSet(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  CheckReplicaCommon(spec, errors);
  CheckWorkloadSelector(spec, "deployment", errors);
  CheckWorkloadTemplate(spec, errors);
}

void ValidateReplicaSetUpdate(const Context& ctx, json::Value object, json::Value old,
                              FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  ValidateReplicaSet(ctx, object, errors);
  CheckImmutable(object["spec"]["selector"], old["spec"]["selector"], FieldPath("spec", "selector"),
                 errors);
}

void ValidateReplicationController(const Context& ctx, json::Value object, FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  const json::Value spec = object["spec"];
  CheckReplicaCommon(spec, errors);
  if (spec["selector"].empty()) {
    errors.push_back(api::Required(FieldPath("spec", "selector"), ""));
  }
  if (spec["template"].is_null()) {
    errors.push_back(api::Required(FieldPath("spec", "template"), ""));
    return;
  }
  const json::Value labels = spec["template"]["metadata"]["labels"];
  if (!api::LabelSelector::FromSet(spec["selector"]).Matches(labels)) {
    errors.push_back(api::Invalid(FieldPath("spec", "template", "metadata", "labels"), labels,
                                  "`selector` does not match template `labels`"));
  }
  ValidatePodTemplate(spec["template"], FieldPath("spec", "template"), errors);
}

void ValidateDaemonSet(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  CheckWorkloadSelector(spec, "daemonset", errors);
  CheckWorkloadTemplate(spec, errors);
  CheckNonNegative(spec["minReadySeconds"], path.Child("minReadySeconds"), errors);
  const json::Value strategy = spec["updateStrategy"];
  if (strategy["type"].AsString() == "RollingUpdate") {
    if (strategy["rollingUpdate"].is_null()) {
      errors.push_back(api::Required(path.Child("updateStrategy").Child("rollingUpdate"), ""));
    } else {
      CheckRollingUpdate(strategy["rollingUpdate"],
                         path.Child("updateStrategy").Child("rollingUpdate"), errors);
    }
  } else if (strategy["type"].AsString() != "OnDelete") {
    CheckOneOf(strategy["type"], path.Child("updateStrategy"), {"RollingUpdate", "OnDelete"},
               errors);
  }
  CheckNonNegative(spec["revisionHistoryLimit"], path.Child("revisionHistoryLimit"), errors);
}

void ValidateDaemonSetUpdate(const Context& ctx, json::Value object, json::Value old,
                             FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  ValidateDaemonSet(ctx, object, errors);
  CheckImmutable(object["spec"]["selector"], old["spec"]["selector"], FieldPath("spec", "selector"),
                 errors);
}

void ValidateStatefulSet(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  const std::string_view management = spec["podManagementPolicy"].AsString();
  if (management.empty()) {
    errors.push_back(api::Required(path.Child("podManagementPolicy"), ""));
  } else if (management != "OrderedReady" && management != "Parallel") {
    errors.push_back(api::Invalid(path.Child("podManagementPolicy"), management,
                                  "must be 'OrderedReady' or 'Parallel'"));
  }
  const json::Value strategy = spec["updateStrategy"];
  const std::string_view type = strategy["type"].AsString();
  if (type.empty()) {
    errors.push_back(api::Required(path.Child("updateStrategy"), ""));
  } else if (type == "OnDelete") {
    if (!strategy["rollingUpdate"].is_null()) {
      errors.push_back(api::Invalid(path.Child("updateStrategy").Child("rollingUpdate"),
                                    strategy["rollingUpdate"],
                                    "only allowed for updateStrategy 'RollingUpdate'"));
    }
  } else if (type == "RollingUpdate") {
    CheckNonNegative(strategy["rollingUpdate"]["partition"],
                     path.Child("updateStrategy").Child("rollingUpdate").Child("partition"),
                     errors);
  } else {
    errors.push_back(api::Invalid(path.Child("updateStrategy"), strategy,
                                  "must be 'RollingUpdate' or 'OnDelete'"));
  }
  CheckReplicaCommon(spec, errors);
  CheckNonNegative(spec["ordinals"]["start"], path.Child("ordinals.start"), errors);
  CheckWorkloadSelector(spec, "statefulset", errors);
  CheckTemplateMatches(spec, errors);
  ValidatePodTemplate(spec["template"], path.Child("template"), errors);
  if (const std::string_view policy = spec["template"]["spec"]["restartPolicy"].AsString();
      policy != "Always") {
    errors.push_back(
        api::NotSupported(path.Child("template", "spec", "restartPolicy"), policy, {"Always"}));
  }
}

void ValidateStatefulSetUpdate(const Context& ctx, json::Value object, json::Value old,
                               FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  ValidateStatefulSet(ctx, object, errors);
  const auto fixed = [&](json::Value spec) {
    for (const std::string_view field :
         {"replicas", "ordinals", "template", "updateStrategy", "minReadySeconds",
          "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy"}) {
      spec = json::Without(ctx.arena, spec, field);
    }
    return spec;
  };
  if (!(fixed(object["spec"]) == fixed(old["spec"]))) {
    errors.push_back(api::Forbidden(
        FieldPath("spec"),
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
        "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
        "'minReadySeconds' are forbidden"));
  }
}

namespace {

void CheckJobSpec(json::Value spec, const FieldPath& path, FieldErrors& errors) {
  for (const std::string_view field :
       {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
        "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"}) {
    CheckNonNegative(spec[field], path.Child(field), errors);
  }
  if (const json::Value mode = spec["completionMode"]; !mode.is_null()) {
    if (mode.AsString() != "NonIndexed" && mode.AsString() != "Indexed") {
      errors.push_back(
          api::NotSupported(path.Child("completionMode"), mode, {"NonIndexed", "Indexed"}));
    }
    if (mode.AsString() == "Indexed" && spec["completions"].is_null()) {
      errors.push_back(api::Required(path.Child("completions"), "when completion mode is Indexed"));
    }
  }
  if (spec["completionMode"].AsString() != "Indexed") {
    for (const std::string_view field : {"backoffLimitPerIndex", "maxFailedIndexes"}) {
      if (spec[field].is_null()) continue;
      errors.push_back(
          api::Invalid(path.Child(field), spec[field].AsInt(), "requires indexed completion mode"));
    }
  }
  ValidatePodTemplate(spec["template"], path.Child("template"), errors);
  const std::string_view policy = spec["template"]["spec"]["restartPolicy"].AsString();
  const FieldPath policy_path = path.Child("template", "spec", "restartPolicy");
  if (policy.empty() || policy == "Always") {
    errors.push_back(api::Required(policy_path, "valid values: \"OnFailure\", \"Never\""));
  } else if (policy != "OnFailure" && policy != "Never") {
    errors.push_back(api::NotSupported(policy_path, policy, {"OnFailure", "Never"}));
  } else if (!spec["podFailurePolicy"].is_null() && policy != "Never") {
    errors.push_back(api::Invalid(
        policy_path, policy, "only \"Never\" is supported when podFailurePolicy is specified"));
  }
}

}  // namespace

void ValidateJob(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  if (spec["selector"].is_null()) {
    errors.push_back(api::Required(path.Child("selector"), ""));
  } else {
    Append(errors, api::ValidateLabelSelector(spec["selector"], path.Child("selector")));
    const auto selector = api::LabelSelector::FromJson(spec["selector"]);
    const json::Value labels = spec["template"]["metadata"]["labels"];
    if (selector.ok() && !selector->Matches(labels)) {
      errors.push_back(api::Invalid(path.Child("template", "metadata", "labels"), labels,
                                    "`selector` does not match template `labels`"));
    }
  }
  CheckJobSpec(spec, path, errors);
}

void ValidateJobUpdate(const Context& ctx, json::Value object, json::Value old,
                       FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  CheckJobSpec(object["spec"], FieldPath("spec"), errors);
  const json::Value spec = object["spec"];
  const json::Value before = old["spec"];
  const FieldPath path("spec");
  if (spec["completionMode"].AsString() != "Indexed") {
    CheckImmutable(spec["completions"], before["completions"], path.Child("completions"), errors);
  }
  CheckImmutable(spec["selector"], before["selector"], path.Child("selector"), errors);
  if (!before["suspend"].AsBool() || !spec["suspend"].AsBool()) {
    CheckImmutable(spec["template"], before["template"], path.Child("template"), errors);
  }
  for (const std::string_view field : {"completionMode", "podFailurePolicy", "backoffLimitPerIndex",
                                       "managedBy", "successPolicy"}) {
    CheckImmutable(spec[field], before[field], path.Child(field), errors);
  }
}

namespace {

void CheckTimeZone(json::Value zone, const FieldPath& path, FieldErrors& errors) {
  if (zone.is_null()) return;
  const std::string_view name = zone.AsString();
  if (name.empty()) {
    errors.push_back(api::Invalid(path, name, "timeZone must be nil or non-empty string"));
  } else if (base::ToLower(name) == "local") {
    errors.push_back(api::Invalid(
        path, name,
        "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"));
  } else if (name.find(':') != std::string_view::npos || !cel::ZoneOffset(name, 0).ok()) {
    errors.push_back(api::Invalid(path, name, base::StrCat("unknown time zone ", name)));
  }
}

void CheckCronJob(json::Value object, json::Value old, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  const std::string_view schedule = spec["schedule"].AsString();
  const FieldPath schedule_path = path.Child("schedule");
  if (schedule.empty()) {
    errors.push_back(api::Required(schedule_path, ""));
  } else {
    const std::string wrong = CheckSchedule(schedule);
    if (!wrong.empty()) errors.push_back(api::Invalid(schedule_path, schedule, wrong));
    // Schedules with a zone that were stored before stay.
    const bool zoned = schedule.find("TZ") != std::string_view::npos;
    if (zoned && (old.is_null() || !(old["spec"]["schedule"] == spec["schedule"]))) {
      errors.push_back(
          api::Invalid(schedule_path, schedule,
                       "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"));
    }
  }
  CheckNonNegative(spec["startingDeadlineSeconds"], path.Child("startingDeadlineSeconds"), errors);
  CheckTimeZone(spec["timeZone"], path.Child("timeZone"), errors);
  CheckOneOf(spec["concurrencyPolicy"], path.Child("concurrencyPolicy"),
             {"Allow", "Forbid", "Replace"}, errors);
  CheckJobSpec(spec["jobTemplate"]["spec"], path.Child("jobTemplate", "spec"), errors);
  for (const std::string_view field : {"successfulJobsHistoryLimit", "failedJobsHistoryLimit"}) {
    CheckNonNegative(spec[field], path.Child(field), errors);
  }
}

}  // namespace

void ValidateCronJob(const Context& ctx, json::Value object, FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  CheckCronJob(object, json::Value(), errors);
  const std::size_t length = object["metadata"]["name"].AsString().size();
  if (length > 52) {
    errors.push_back(api::Invalid(FieldPath("metadata", "name"), object["metadata"]["name"],
                                  "must be no more than 52 characters"));
  }
}

void ValidateCronJobUpdate(const Context& ctx, json::Value object, json::Value old,
                           FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  CheckCronJob(object, old, errors);
}

}  // namespace portcullis::registry
