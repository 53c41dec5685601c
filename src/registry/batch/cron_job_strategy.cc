// SPDX-License-Identifier: Apache-2.0

// CronJobs (pkg/apis/batch/validation, pkg/registry/batch/cronjob).

#include "base/strings.h"
#include "cel/library/time_zone.h"
#include "registry/batch/job_spec.h"
#include "registry/batch/schedule.h"
#include "registry/kind_table.h"
#include "registry/pods/template_warnings.h"

namespace portcullis::registry {
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

void CheckCronJob(const Context& ctx, json::Value object, json::Value old, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  const std::string_view schedule = spec["schedule"].AsString();
  const FieldPath schedule_path = path.Child("schedule");
  if (schedule.empty()) {
    errors.push_back(api::Required(schedule_path, ""));
  } else {
    const std::string wrong = CheckSchedule(schedule);
    if (!wrong.empty()) errors.push_back(api::Invalid(schedule_path, schedule, wrong));
    // Who had a zone in the schedule before may keep one.
    const auto zoned = [](std::string_view text) {
      return text.find("TZ") != std::string_view::npos;
    };
    if (zoned(schedule) && !zoned(old["spec"]["schedule"].AsString())) {
      errors.push_back(
          api::Invalid(schedule_path, schedule,
                       "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"));
    } else if (zoned(schedule) && !spec["timeZone"].is_null()) {
      errors.push_back(api::Invalid(
          schedule_path, schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule"));
    }
  }
  CheckNonNegative(spec["startingDeadlineSeconds"], path.Child("startingDeadlineSeconds"), errors);
  if (old.is_null() || !(old["spec"]["timeZone"] == spec["timeZone"])) {
    CheckTimeZone(spec["timeZone"], path.Child("timeZone"), errors);
  }
  if (spec["concurrencyPolicy"].AsString().empty()) {
    errors.push_back(api::Required(path.Child("concurrencyPolicy"), ""));
  } else {
    CheckOneOf(spec["concurrencyPolicy"], path.Child("concurrencyPolicy"),
               {"Allow", "Forbid", "Replace"}, errors);
  }
  const json::Value job = spec["jobTemplate"]["spec"];
  const FieldPath job_path = path.Child("jobTemplate", "spec");
  CheckJobSpec(ctx, job, old["spec"]["jobTemplate"]["spec"], job_path, errors);
  if (!job["selector"].is_null()) {
    errors.push_back(api::Invalid(job_path.Child("selector"), job["selector"],
                                  "`selector` will be auto-generated"));
  }
  if (job["manualSelector"].AsBool()) {
    errors.push_back(api::NotSupported(job_path.Child("manualSelector"), true, {"nil", "false"}));
  }
  for (const std::string_view field : {"successfulJobsHistoryLimit", "failedJobsHistoryLimit"}) {
    CheckNonNegative(spec[field], path.Child(field), errors);
  }
}

void ValidateCronJob(const Context& ctx, json::Value object, FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  CheckCronJob(ctx, object, json::Value(), errors);
  const std::size_t length = object["metadata"]["name"].AsString().size();
  if (length > 52) {
    errors.push_back(api::Invalid(FieldPath("metadata", "name"), object["metadata"]["name"],
                                  "must be no more than 52 characters"));
  }
}

void ValidateCronJobUpdate(const Context& ctx, json::Value object, json::Value old,
                           FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  CheckCronJob(ctx, object, old, errors);
}

void WarnOfCronJob(const Context& ctx, json::Value object, json::Value old,
                   std::vector<std::string>& warnings) {
  if (old.is_null()) WarnOfPodName(ctx, object, warnings);
  if (old.is_null() || !(object["metadata"]["generation"] == old["metadata"]["generation"])) {
    WarnOfJobSpec(object["spec"]["jobTemplate"]["spec"], FieldPath("spec", "jobTemplate", "spec"),
                  warnings);
  }
  WarnOfTemplateOnly(ctx, object, old, warnings);
  if (old.is_null() || object["spec"]["schedule"].AsString().find("TZ") == std::string_view::npos)
    return;
  warnings.emplace_back(
      "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
      "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details");
}

}  // namespace

void AddCronJobStrategy(KindTable& table) {
  table.Add({.group = "batch",
             .resource = "cronjobs",
             .validate = &ValidateCronJob,
             .validate_update = &ValidateCronJobUpdate,
             .warn = &WarnOfCronJob,
             .traits = {.counts_generation = true},
             .metadata = {.subresource = ""},
             .pod_spec = "spec.jobTemplate.spec.template.spec"});
}

}  // namespace portcullis::registry
