// Jobs and CronJobs (pkg/apis/batch/validation, pkg/registry/batch).

#include "api/selector/label_selector.h"
#include "base/strings.h"
#include "cel/library/time_zone.h"
#include "registry/kind_table.h"
#include "registry/template_warnings.h"
#include "registry/validation/pod_parts.h"
#include "registry/validation/schedule.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kControllerUid = "batch.kubernetes.io/controller-uid";
constexpr std::string_view kJobName = "batch.kubernetes.io/job-name";
constexpr std::string_view kLegacyControllerUid = "controller-uid";
constexpr std::string_view kLegacyJobName = "job-name";

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

void ValidateJob(const Context&, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  if (spec["selector"].is_null()) {
    errors.push_back(api::Required(path.Child("selector"), ""));
  } else {
    CheckLabelSelector(spec["selector"], path.Child("selector"), errors);
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

// Unless the user has chosen a selector, the job's pods are told by its uid.
class Jobs final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  bool OrphansDependentsByDefault() const override { return true; }

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    object = DefaultStrategy::PrepareForCreate(ctx, object);
    if (object["spec"]["manualSelector"].AsBool()) return object;
    json::Arena& arena = ctx.arena;
    const json::Value name = object["metadata"]["name"];
    const json::Value uid = object["metadata"]["uid"];
    const std::pair<std::string_view, json::Value> labels[] = {{kControllerUid, uid},
                                                               {kJobName, name},
                                                               {kLegacyControllerUid, uid},
                                                               {kLegacyJobName, name}};
    for (const auto& [key, value] : labels) {
      object = json::SetPath(arena, object, {"spec", "template", "metadata", "labels", key}, value);
    }
    // What the defaults had copied of the template's labels before is completed likewise.
    for (const auto& [key, value] : labels) {
      object = json::SetPath(arena, object, {"metadata", "labels", key}, value);
    }
    return json::SetPath(arena, object, {"spec", "selector", "matchLabels", kControllerUid}, uid);
  }
};

void WarnOfCronJob(const Context& ctx, json::Value object, json::Value old,
                   std::vector<std::string>& warnings) {
  WarnOfTemplate(ctx, object, old, warnings);
  if (old.is_null() || object["spec"]["schedule"].AsString().find("TZ") == std::string_view::npos)
    return;
  warnings.emplace_back(
      "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
      "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details");
}

}  // namespace

void AddBatch(KindTable& table) {
  table.Add({.group = "batch",
             .resource = "cronjobs",
             .validate = &ValidateCronJob,
             .validate_update = &ValidateCronJobUpdate,
             .warn = &WarnOfCronJob,
             .traits = {.counts_generation = true}});
  table.Add({.group = "batch",
             .resource = "jobs",
             .validate = &ValidateJob,
             .validate_update = &ValidateJobUpdate,
             .warn = &WarnOfTemplate,
             .traits = {.counts_generation = true},
             .make = &Make<Jobs>});
}

}  // namespace portcullis::registry
