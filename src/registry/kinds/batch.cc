// Jobs and CronJobs (pkg/apis/batch/validation, pkg/registry/batch).

#include "api/selector/label_selector.h"
#include "base/strings.h"
#include "cel/library/time_zone.h"
#include "registry/kind_table.h"
#include "registry/template_warnings.h"
#include "registry/validation/go_diff.h"
#include "registry/validation/job_policies.h"
#include "registry/validation/pod_parts.h"
#include "registry/validation/schedule.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kControllerUid = "batch.kubernetes.io/controller-uid";
constexpr std::string_view kJobName = "batch.kubernetes.io/job-name";
constexpr std::string_view kLegacyControllerUid = "controller-uid";
constexpr std::string_view kLegacyJobName = "job-name";

constexpr std::int64_t kMostIndexes = 100000;  // parallelism and failed indexes of an indexed job
constexpr std::int64_t kManyCompletions = 100000;
constexpr std::int64_t kMostForManyCompletions = 10000;

// What indexes allow and need.
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
  if (!completions.is_null() && failed.AsInt() > completions.AsInt()) {
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

void CheckJobSpec(const Context& ctx, json::Value spec, const FieldPath& path,
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
    errors.push_back(
        api::NotSupported(path.Child("completionMode"), mode, {"NonIndexed", "Indexed"}));
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
  ValidatePodTemplate(ctx, spec["template"], path.Child("template"), errors);
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

void CheckLabelIs(json::Value labels, std::string_view key, std::string_view expected,
                  FieldErrors& errors) {
  const FieldPath path = FieldPath("spec", "template", "metadata", "labels").Key(key);
  const std::string text = base::StrCat("must be '", expected, "'");
  if (!labels.Has(key)) {
    errors.push_back(api::Required(path, text));
  } else if (labels[key].AsString() != expected) {
    errors.push_back(api::Invalid(path, labels, text));
  }
}

// What the server has generated may not be contradicted.
void CheckGeneratedSelector(const Context& ctx, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  if (spec["manualSelector"].AsBool() || spec["selector"].is_null()) return;
  const json::Value labels = spec["template"]["metadata"]["labels"];
  const json::Value uid = object["metadata"]["uid"];
  const json::Value name = object["metadata"]["name"];
  const std::pair<std::string_view, json::Value> generated[] = {
      {kLegacyControllerUid, uid}, {kLegacyJobName, name}, {kControllerUid, uid}, {kJobName, name}};
  json::ObjectBuilder expected(ctx.arena);
  for (const auto& [key, value] : generated) {
    CheckLabelIs(labels, key, value.AsString(), errors);
    expected.Set(key, value);
  }
  const auto selector = api::LabelSelector::FromJson(spec["selector"]);
  if (selector.ok() && !selector->Matches(expected.Build())) {
    errors.push_back(api::Invalid(FieldPath("spec", "selector"), spec["selector"],
                                  "`selector` not auto-generated"));
  }
}

void CheckJobWithSelector(const Context& ctx, json::Value spec, FieldErrors& errors) {
  const FieldPath path("spec");
  CheckJobSpec(ctx, spec, path, errors);
  if (spec["selector"].is_null()) {
    errors.push_back(api::Required(path.Child("selector"), ""));
  } else {
    CheckLabelSelector(spec["selector"], path.Child("selector"), errors);
  }
  const auto selector = api::LabelSelector::FromJson(spec["selector"]);
  const json::Value labels = spec["template"]["metadata"]["labels"];
  if (selector.ok() && !selector->Matches(labels)) {
    errors.push_back(api::Invalid(path.Child("template", "metadata", "labels"), labels,
                                  "`selector` does not match template `labels`"));
  }
}

void ValidateJob(const Context& ctx, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  CheckGeneratedSelector(ctx, object, errors);
  CheckJobWithSelector(ctx, spec, errors);
  const std::int64_t completions = spec["completions"].AsInt();
  if (spec["completionMode"].AsString() != "Indexed" || completions <= 0) return;
  const std::string_view name = object["metadata"]["name"].AsString();
  const std::string last = base::StrCat(name, "-", std::to_string(completions - 1));
  if (!api::IsDns1123Label(last).empty()) {
    errors.push_back(
        api::Invalid(FieldPath("metadata", "name"), name,
                     base::StrCat("will not able to create pod with invalid DNS label: ", last)));
  }
}

// The old template with what a job that has not begun may still change.
json::Value Unstarted(json::Arena& arena, json::Value old, json::Value now) {
  const auto take = [&](json::Value object, std::string_view name, json::Value source) {
    const json::Value* value = source.Find(name);
    return value == nullptr ? json::Without(arena, object, name)
                            : json::With(arena, object, name, *value);
  };
  json::Value metadata = old["metadata"];
  for (const std::string_view name : {"labels", "annotations"}) {
    metadata = take(metadata, name, now["metadata"]);
  }
  json::Value spec = old["spec"];
  for (const std::string_view name : {"nodeSelector", "tolerations", "schedulingGates"}) {
    spec = take(spec, name, now["spec"]);
  }
  json::Value affinity = take(spec["affinity"], "nodeAffinity", now["spec"]["affinity"]);
  spec = affinity.empty() && !now["spec"].Has("affinity")
             ? json::Without(arena, spec, "affinity")
             : json::With(arena, spec, "affinity", affinity);
  for (const std::string_view list : {"containers", "initContainers"}) {
    const json::Value before = spec[list];
    const json::Value after = now["spec"][list];
    if (before.empty() || before.size() != after.size()) continue;
    json::ArrayBuilder containers(arena);
    for (std::size_t i = 0; i < before.size(); ++i) {
      containers.Add(take(before[i], "resources", after[i]));
    }
    spec = json::With(arena, spec, list, containers.Build());
  }
  return json::With(arena, json::With(arena, old, "metadata", metadata), "spec", spec);
}

bool IsTrue(json::Value job, std::string_view type) {
  for (const json::Value& condition : job["status"]["conditions"].elements()) {
    if (condition["type"].AsString() == type) return condition["status"].AsString() == "True";
  }
  return false;
}

void CheckCompletionsChange(json::Value spec, json::Value before, FieldErrors& errors) {
  const FieldPath path("spec", "completions");
  if (spec["completionMode"].AsString() != "Indexed") {
    CheckImmutable(spec["completions"], before["completions"], path, errors);
  } else if (!(spec["completions"] == before["completions"]) && !spec["completions"].is_null() &&
             !(spec["completions"] == spec["parallelism"])) {
    errors.push_back(api::Invalid(path, spec["completions"].AsInt(),
                                  "can only be modified in tandem with spec.parallelism"));
  }
}

void ValidateJobUpdate(const Context& ctx, json::Value object, json::Value old,
                       FieldErrors& errors) {
  if (ctx.subresource == "status") return CheckJobStatus(object, old, errors);
  const json::Value spec = object["spec"];
  const json::Value before = old["spec"];
  const FieldPath path("spec");
  CheckJobWithSelector(ctx, spec, errors);
  CheckCompletionsChange(spec, before, errors);
  CheckImmutable(spec["selector"], before["selector"], path.Child("selector"), errors);
  const bool unstarted = before["suspend"].AsBool() &&
                         (old["status"]["startTime"].is_null() || IsTrue(old, "Suspended"));
  const json::Value fixed =
      unstarted ? Unstarted(ctx.arena, before["template"], spec["template"]) : before["template"];
  if (!(spec["template"] == fixed)) {
    errors.push_back(
        api::Invalid(path.Child("template"),
                     GoValue(ctx, "io.k8s.api.core.v1.PodTemplateSpec", spec["template"]),
                     "field is immutable"));
  }
  constexpr std::pair<std::string_view, std::string_view> kFixed[] = {
      {"completionMode", ""},
      {"podFailurePolicy", "io.k8s.api.batch.v1.PodFailurePolicy"},
      {"backoffLimitPerIndex", ""},
      {"managedBy", ""},
      {"successPolicy", "io.k8s.api.batch.v1.SuccessPolicy"}};
  for (const auto& [field, type] : kFixed) {
    if (spec[field] == before[field]) continue;
    errors.push_back(
        api::Invalid(path.Child(field),
                     type.empty() ? api::BadValue(spec[field]) : GoValue(ctx, type, spec[field]),
                     "field is immutable"));
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
  CheckJobSpec(ctx, job, job_path, errors);
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

// Too many indexes to remember which failed.
void WarnOfJob(const Context& ctx, json::Value object, json::Value old,
               std::vector<std::string>& warnings) {
  const json::Value spec = object["spec"];
  if (old.is_null()) WarnOfPodName(ctx, object, warnings);
  if (spec["completionMode"].AsString() == "Indexed" &&
      spec["completions"].AsInt() > kManyCompletions &&
      spec["parallelism"].AsInt() > kMostForManyCompletions) {
    warnings.emplace_back(
        "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher "
        "than 10^4, Kubernetes might not be able to track completedIndexes when a big number of "
        "indexes fail");
  }
  WarnOfTemplateOnly(ctx, object, old, warnings);
}

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
             .traits = {.counts_generation = true},
             .pod_spec = "spec.jobTemplate.spec.template.spec"});
  table.Add({.group = "batch",
             .resource = "jobs",
             .validate = &ValidateJob,
             .validate_update = &ValidateJobUpdate,
             .warn = &WarnOfJob,
             .traits = {.counts_generation = true},
             .pod_spec = "spec.template.spec",
             .make = &Make<Jobs>});
}

}  // namespace portcullis::registry
