// SPDX-License-Identifier: Apache-2.0

// StatefulSets (pkg/apis/apps/validation).

#include <cstdint>
#include <set>

#include "registry/apps/workload_checks.h"
#include "registry/kind_table.h"
#include "registry/pods/pod_parts.h"
#include "registry/pods/pod_warnings.h"
#include "registry/pods/template_warnings.h"
#include "registry/validation/go_diff.h"

namespace portcullis::registry {
namespace {

void CheckStatefulStrategy(const Context& ctx, json::Value strategy, FieldErrors& errors) {
  const FieldPath path("spec", "updateStrategy");
  const FieldPath rolling_path = path.Child("rollingUpdate");
  const std::string_view type = strategy["type"].AsString();
  const json::Value rolling = strategy["rollingUpdate"];
  if (type.empty()) {
    errors.push_back(api::Required(path, ""));
  } else if (type == "OnDelete") {
    if (rolling.is_null()) return;
    errors.push_back(api::Invalid(
        rolling_path, GoValue(ctx, "io.k8s.api.apps.v1.RollingUpdateStatefulSetStrategy", rolling),
        "only allowed for updateStrategy 'RollingUpdate'"));
  } else if (type != "RollingUpdate") {
    errors.push_back(
        api::Invalid(path, GoValue(ctx, "io.k8s.api.apps.v1.StatefulSetUpdateStrategy", strategy),
                     "must be 'RollingUpdate' or 'OnDelete'"));
  } else {
    CheckNonNegative(rolling["partition"], rolling_path.Child("partition"), errors);
    const json::Value most = rolling["maxUnavailable"];
    if (most.is_null()) return;
    const FieldPath at = rolling_path.Child("maxUnavailable");
    CheckIntOrPercent(most, at, errors);
    if (NumberOrPercent(most) == 0) errors.push_back(api::Invalid(at, most, "cannot be 0"));
    CheckAtMostHundredPercent(most, at, errors);
  }
}

// The template with the volumes that the claims will be, one for each name, and without the names that
// the controller sets.
json::Value WithClaims(json::Arena& arena, json::Value spec) {
  json::Value out = spec["template"];
  for (const std::string_view name : {"hostname", "subdomain"}) {
    if (out["spec"].Has(name)) out = json::RemovePath(arena, out, {"spec", name});
  }
  json::ArrayBuilder all(arena);
  std::set<std::string_view> claims;
  for (const json::Value& claim : spec["volumeClaimTemplates"].elements()) {
    const json::Value name = claim["metadata"]["name"];
    if (!claims.insert(name.AsString()).second) continue;
    all.Add(json::MakeObject(
        arena, {{"name", name},
                {"persistentVolumeClaim", json::MakeObject(arena, {{"claimName", name}})}}));
  }
  if (all.size() == 0) return out;
  for (const json::Value& volume : out["spec"]["volumes"].elements()) {
    if (!claims.contains(volume["name"].AsString())) all.Add(volume);
  }
  return json::SetPath(arena, out, {"spec", "volumes"}, all.Build());
}

enum class Templates : std::uint8_t { kChecked, kSkipped };

// What is wrong with the template, some of it told twice.
void CheckStatefulTemplate(const Context& ctx, json::Value spec, json::Value old,
                           Templates templates, FieldErrors& errors) {
  if (!CheckTemplateMatches(ctx, spec, "", errors)) return;
  const FieldPath path("spec", "template");
  const json::Value pod_template = WithClaims(ctx.arena, spec);
  if (templates == Templates::kChecked) {
    ValidatePodTemplate(ctx, pod_template, old["template"], path, errors);
  }
  ValidatePodTemplateMetadata(pod_template, path, errors);
}

// What was good enough when the object was made is not looked at again. `old` is the spec that `spec`
// replaces, null for a new one.
void CheckStatefulSet(const Context& ctx, json::Value spec, json::Value old, Templates templates,
                      FieldErrors& errors) {
  const bool is_new = old.is_null();
  const FieldPath path("spec");
  const std::string_view management = spec["podManagementPolicy"].AsString();
  if (management.empty()) {
    errors.push_back(api::Required(path.Child("podManagementPolicy"), ""));
  } else if (management != "OrderedReady" && management != "Parallel") {
    errors.push_back(api::Invalid(path.Child("podManagementPolicy"), management,
                                  "must be 'OrderedReady' or 'Parallel'"));
  }
  CheckStatefulStrategy(ctx, spec["updateStrategy"], errors);
  if (const json::Value retention = spec["persistentVolumeClaimRetentionPolicy"];
      !retention.is_null()) {
    for (const std::string_view when : {"whenDeleted", "whenScaled"}) {
      CheckOneOf(retention[when], path.Child("persistentVolumeClaimRetentionPolicy", when),
                 {"Retain", "Delete"}, errors);
    }
  }
  std::size_t index = 0;
  for (const json::Value& claim : spec["volumeClaimTemplates"].elements()) {
    if (!is_new) break;
    CheckClaimSpec(claim["spec"], path.Child("volumeClaimTemplates").Index(index++).Child("spec"),
                   errors);
  }
  CheckNonNegative(spec["replicas"], path.Child("replicas"), errors);
  CheckNonNegative(spec["minReadySeconds"], path.Child("minReadySeconds"), errors);
  CheckNonNegative(spec["ordinals"]["start"], path.Child("ordinals.start"), errors);
  if (const std::string_view service = spec["serviceName"].AsString(); is_new && !service.empty()) {
    CheckDnsLabel(service, path.Child("serviceName"), errors);
  }
  CheckWorkloadSelector(ctx, spec, "statefulset", errors);
  CheckStatefulTemplate(ctx, spec, old, templates, errors);
  CheckAlwaysRestarts(spec["template"], "StatefulSet", errors);
}

void ValidateStatefulSet(const Context& ctx, json::Value object, FieldErrors& errors) {
  CheckStatefulSet(ctx, object["spec"], {}, Templates::kChecked, errors);
}

// The template of one whose stored spec is not valid any more is not looked at.
void CheckSpecOfUpdate(const Context& ctx, json::Value spec, json::Value old, FieldErrors& errors) {
  FieldErrors found;
  CheckStatefulSet(ctx, spec, old, Templates::kChecked, found);
  if (!found.empty()) {
    FieldErrors before;
    CheckStatefulSet(ctx, old, old, Templates::kChecked, before);
    if (!before.empty()) {
      found.clear();
      CheckStatefulSet(ctx, spec, old, Templates::kSkipped, found);
    }
  }
  errors.insert(errors.end(), found.begin(), found.end());
}

void CheckStatefulStatus(json::Value status, json::Value old, FieldErrors& errors) {
  CheckStatusCounts(status,
                    {"replicas", "readyReplicas", "currentReplicas", "updatedReplicas",
                     "availableReplicas", "observedGeneration", "collisionCount"},
                    errors);
  for (const std::string_view field :
       {"readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"}) {
    CheckStatusAtMost(status, field, "replicas", kMoreThanReplicas, errors);
  }
  CheckStatusAtMost(status, "availableReplicas", "readyReplicas",
                    "cannot be greater than status.readyReplicas", errors);
  CheckCollisionCount(status, old, errors);
}

void ValidateStatefulSetUpdate(const Context& ctx, json::Value object, json::Value old,
                               FieldErrors& errors) {
  if (ctx.subresource == "status") {
    return CheckStatefulStatus(object["status"], old["status"], errors);
  }
  CheckSpecOfUpdate(ctx, object["spec"], old["spec"], errors);
  const bool as_of_old = ctx.release->Has("WorkloadsAreCheckedAsOfOld");
  const auto fixed = [&](json::Value spec) {
    for (const std::string_view field : {"replicas", "template", "updateStrategy"}) {
      spec = json::Without(ctx.arena, spec, field);
    }
    if (as_of_old) return spec;
    for (const std::string_view field : {"ordinals", "minReadySeconds", "revisionHistoryLimit",
                                         "persistentVolumeClaimRetentionPolicy"}) {
      spec = json::Without(ctx.arena, spec, field);
    }
    return spec;
  };
  if (!(fixed(object["spec"]) == fixed(old["spec"]))) {
    errors.push_back(api::Forbidden(
        FieldPath("spec"),
        as_of_old ? "updates to statefulset spec for fields other than 'replicas', 'template', and "
                    "'updateStrategy' are forbidden."
                  : "updates to statefulset spec for fields other than 'replicas', 'ordinals', "
                    "'template', "
                    "'updateStrategy', 'revisionHistoryLimit', "
                    "'persistentVolumeClaimRetentionPolicy' and "
                    "'minReadySeconds' are forbidden"));
  }
}

void WarnOfStatefulSet(const Context& ctx, json::Value object, json::Value old,
                       std::vector<std::string>& warnings) {
  WarnOfTemplateOnly(ctx, object, old, warnings);
  const json::Value spec = object["spec"];
  std::size_t index = 0;
  for (const json::Value& claim : spec["volumeClaimTemplates"].elements()) {
    const FieldPath at = FieldPath("spec", "volumeClaimTemplates").Index(index++);
    ClaimSpecWarnings(claim["spec"], old.is_null() ? at : at.Child("Spec"), warnings);
  }
  if (spec["revisionHistoryLimit"].AsInt() < 0) {
    warnings.emplace_back(
        "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= "
        "0 is recommended");
  }
}

constexpr DisabledField kDisabledOfStatefulSets[] = {
    {"MaxUnavailableStatefulSet", "spec.updateStrategy.rollingUpdate.maxUnavailable"}};

}  // namespace

void AddStatefulSetStrategy(KindTable& table) {
  table.Add({.group = "apps",
             .resource = "statefulsets",
             .validate = &ValidateStatefulSet,
             .validate_update = &ValidateStatefulSetUpdate,
             .warn = &WarnOfStatefulSet,
             .traits = {.counts_generation = true, .names = NameStyle::kLabel},
             .zero_fields = R"({"spec":{"replicas":0}})",
             .pod_spec = "spec.template.spec",
             .disabled = kDisabledOfStatefulSets});
}

}  // namespace portcullis::registry
