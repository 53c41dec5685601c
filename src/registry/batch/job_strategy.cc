// SPDX-License-Identifier: Apache-2.0

// Jobs (pkg/apis/batch/validation, pkg/registry/batch/job).

#include "api/condition.h"
#include "api/selector/label_selector.h"
#include "base/strings.h"
#include "json/edit.h"
#include "json/sorted.h"
#include "registry/apps/workload_checks.h"
#include "registry/batch/job_spec.h"
#include "registry/batch/job_status.h"
#include "registry/kind_table.h"
#include "registry/pods/template_warnings.h"
#include "registry/validation/go_diff.h"
#include "registry/validation/semantic_equality.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kControllerUid = "batch.kubernetes.io/controller-uid";
constexpr std::string_view kJobName = "batch.kubernetes.io/job-name";
constexpr std::string_view kLegacyControllerUid = "controller-uid";
constexpr std::string_view kLegacyJobName = "job-name";

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

// What the server has generated may not be contradicted. Jobs from before v1.27 have no labels with a
// prefix (`prefixed`).
void CheckGeneratedSelector(const Context& ctx, json::Value object, bool prefixed,
                            FieldErrors& errors) {
  const json::Value spec = object["spec"];
  if (spec["manualSelector"].AsBool() || spec["selector"].is_null()) return;
  const json::Value labels = spec["template"]["metadata"]["labels"];
  const json::Value uid = object["metadata"]["uid"];
  const json::Value name = object["metadata"]["name"];
  const std::pair<std::string_view, json::Value> generated[] = {
      {kLegacyControllerUid, uid}, {kLegacyJobName, name}, {kControllerUid, uid}, {kJobName, name}};
  json::ObjectBuilder expected(ctx.arena);
  for (const auto& [key, value] : generated) {
    if (!prefixed && (key == kControllerUid || key == kJobName)) continue;
    CheckLabelIs(labels, key, value.AsString(), errors);
    expected.Set(key, value);
  }
  const auto selector = api::LabelSelector::FromJson(spec["selector"]);
  if (selector.ok() && !selector->Matches(expected.Build())) {
    errors.push_back(api::Invalid(FieldPath("spec", "selector"), spec["selector"],
                                  "`selector` not auto-generated"));
  }
}

void CheckJobWithSelector(const Context& ctx, json::Value spec, json::Value old,
                          FieldErrors& errors) {
  const FieldPath path("spec");
  CheckJobSpec(ctx, spec, old, path, errors);
  if (spec["selector"].is_null()) {
    errors.push_back(api::Required(path.Child("selector"), ""));
  } else {
    CheckLabelSelector(spec["selector"], path.Child("selector"), errors);
  }
  const auto selector = api::LabelSelector::FromJson(spec["selector"]);
  const json::Value labels = spec["template"]["metadata"]["labels"];
  if (selector.ok() && !selector->Matches(labels)) {
    errors.push_back(TemplateDoesNotMatch(ctx, spec));
  }
}

// `old` is the spec that an update replaces.
void CheckJob(const Context& ctx, json::Value object, json::Value old, bool prefixed,
              FieldErrors& errors) {
  const json::Value spec = object["spec"];
  CheckGeneratedSelector(ctx, object, prefixed, errors);
  CheckJobWithSelector(ctx, spec, old, errors);
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

void ValidateJob(const Context& ctx, json::Value object, FieldErrors& errors) {
  CheckJob(ctx, object, {}, true, errors);
}

// The old template with what decides where the pods of the new one run.
json::Value WithScheduling(json::Arena& arena, json::Value old, json::Value now) {
  json::Value metadata = old["metadata"];
  for (const std::string_view name : {"labels", "annotations"}) {
    metadata = json::WithMemberOf(arena, metadata, name, now["metadata"]);
  }
  json::Value spec = old["spec"];
  for (const std::string_view name : {"nodeSelector", "tolerations", "schedulingGates"}) {
    spec = json::WithMemberOf(arena, spec, name, now["spec"]);
  }
  const json::Value affinity =
      json::WithMemberOf(arena, spec["affinity"], "nodeAffinity", now["spec"]["affinity"]);
  spec = affinity.empty() && !now["spec"].Has("affinity")
             ? json::Without(arena, spec, "affinity")
             : json::With(arena, spec, "affinity", affinity);
  return json::With(arena, json::With(arena, old, "metadata", metadata), "spec", spec);
}

// The old pod spec with the resources of the new one's containers.
json::Value WithResources(json::Arena& arena, json::Value spec, json::Value now) {
  for (const std::string_view list : {"containers", "initContainers"}) {
    const json::Value before = spec[list];
    const json::Value after = now[list];
    if (before.empty() || before.size() != after.size()) continue;
    json::ArrayBuilder containers(arena);
    for (std::size_t i = 0; i < before.size(); ++i) {
      const bool same = before[i]["name"] == after[i]["name"];
      containers.Add(same ? json::WithMemberOf(arena, before[i], "resources", after[i])
                          : before[i]);
    }
    spec = json::With(arena, spec, list, containers.Build());
  }
  return spec;
}

// A suspended job without pods may still change where they run and what they need (KEP-2926, KEP-5440).
void CheckTemplateChange(const Context& ctx, json::Value object, json::Value old,
                         FieldErrors& errors) {
  const json::Value now = object["spec"]["template"];
  json::Value before = old["spec"]["template"];
  const bool suspended = old["spec"]["suspend"].AsBool();
  const bool unstarted = suspended && old["status"]["startTime"].is_null();
  const bool idle = (unstarted || (suspended && api::HasTrueCondition(old, "Suspended"))) &&
                    old["status"]["active"].AsInt() == 0;
  const bool longer = ctx.release->GateEnabled("MutableSchedulingDirectivesForSuspendedJobs");
  if (longer ? idle : unstarted) before = WithScheduling(ctx.arena, before, now);
  const FieldPath path("spec", "template");
  if (idle && ctx.release->GateEnabled("MutablePodResourcesForSuspendedJobs")) {
    if (now["spec"] == WithResources(ctx.arena, before["spec"], now["spec"])) return;
    errors.push_back(api::Invalid(path.Child("spec"),
                                  GoValue(ctx, "io.k8s.api.core.v1.PodSpec", now["spec"],
                                          ctx.sent["spec"]["template"]["spec"]),
                                  "field is immutable"));
  } else if (!(now == before)) {
    errors.push_back(api::Invalid(
        path, GoValue(ctx, "io.k8s.api.core.v1.PodTemplateSpec", now, ctx.sent["spec"]["template"]),
        "field is immutable"));
  }
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

// Kubernetes judges it as a new job, and its spec once more.
void ValidateJobAsNew(const Context& ctx, json::Value object, json::Value old,
                      FieldErrors& errors) {
  if (!ctx.subresource.empty()) return;
  const json::Value before = old["spec"];
  CheckJob(ctx, object, before, before["template"]["metadata"]["labels"].Has(kJobName), errors);
}

void ValidateJobUpdate(const Context& ctx, json::Value object, json::Value old,
                       FieldErrors& errors) {
  if (ctx.subresource == "status") return CheckJobStatus(ctx, object, old, errors);
  const json::Value spec = object["spec"];
  const json::Value before = old["spec"];
  const FieldPath path("spec");
  CheckJobWithSelector(ctx, spec, before, errors);
  CheckCompletionsChange(spec, before, errors);
  CheckImmutable(spec["selector"], before["selector"], path.Child("selector"), errors);
  CheckTemplateChange(ctx, object, old, errors);
  constexpr std::pair<std::string_view, std::string_view> kFixed[] = {
      {"completionMode", ""},
      {"podFailurePolicy", "io.k8s.api.batch.v1.PodFailurePolicy"},
      {"backoffLimitPerIndex", ""},
      {"managedBy", ""},
      {"successPolicy", "io.k8s.api.batch.v1.SuccessPolicy"}};
  for (const auto& [field, type] : kFixed) {
    if (SemanticallyEqual(spec[field], before[field])) continue;
    errors.push_back(api::Invalid(path.Child(field),
                                  type.empty()
                                      ? api::BadValue(spec[field])
                                      : GoValue(ctx, type, spec[field], ctx.sent["spec"][field]),
                                  "field is immutable"));
  }
}

// Unless the user has chosen a selector, the job's pods are told by its uid.
class Jobs final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  Dependents DependentsByDefault() const override { return Dependents::kOrphaned; }

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    object = DefaultStrategy::PrepareForCreate(ctx, object);
    if (object["spec"]["manualSelector"].AsBool()) return object;
    json::Arena& arena = ctx.arena;
    // In Go, labels that the defaults have taken from the template are the template's own map. A Job
    // without any gets them when it is read from the store: admission does not see them.
    const json::Value own = object["metadata"]["labels"];
    const json::Value given = object["spec"]["template"]["metadata"]["labels"];
    const bool shared = !own.empty() && own.IsSameAs(given);
    const json::Value name = object["metadata"]["name"];
    const json::Value uid = object["metadata"]["uid"];
    const std::pair<std::string_view, json::Value> labels[] = {{kControllerUid, uid},
                                                               {kJobName, name},
                                                               {kLegacyControllerUid, uid},
                                                               {kLegacyJobName, name}};
    json::ObjectBuilder all(arena, given);
    for (const auto& [key, value] : labels) {
      if (!given.Has(key)) all.Set(key, value);  // else validation compares it
    }
    const json::Value complete = json::Sorted(arena, all.Build());
    object = json::SetPath(arena, object, {"spec", "template", "metadata", "labels"}, complete);
    if (shared) object = json::SetPath(arena, object, {"metadata", "labels"}, complete);
    const json::Value selected = object["spec"]["selector"]["matchLabels"];
    if (selected.Has(kControllerUid)) return object;
    json::ObjectBuilder match(arena, selected);
    match.Set(kControllerUid, uid);
    // In Go's order, in which errors quote it.
    json::ObjectBuilder selector(arena);
    selector.Set("matchLabels", json::Sorted(arena, match.Build()));
    const json::Value expressions = object["spec"]["selector"]["matchExpressions"];
    if (!expressions.is_null()) selector.Set("matchExpressions", expressions);
    return json::SetPath(arena, object, {"spec", "selector"}, selector.Build());
  }
};

void WarnOfJob(const Context& ctx, json::Value object, json::Value old,
               std::vector<std::string>& warnings) {
  if (old.is_null()) WarnOfPodName(ctx, object, warnings);
  if (old.is_null() || !(object["metadata"]["generation"] == old["metadata"]["generation"])) {
    WarnOfJobSpec(object["spec"], FieldPath("spec"), warnings);
  }
  WarnOfTemplateOnly(ctx, object, old, warnings);
}

}  // namespace

void AddJobStrategy(KindTable& table) {
  table.Add({.group = "batch",
             .resource = "jobs",
             .validate = &ValidateJob,
             .validate_between = &ValidateJobAsNew,
             .validate_update = &ValidateJobUpdate,
             .warn = &WarnOfJob,
             .traits = {.counts_generation = true},
             .metadata = {.update = "FU"},
             .pod_spec = "spec.template.spec",
             .make = &Make<Jobs>});
}

}  // namespace portcullis::registry
