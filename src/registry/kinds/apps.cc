// Kinds that make pods from a template (pkg/apis/apps/validation, pkg/apis/batch/validation).

#include <algorithm>

#include "api/selector/label_selector.h"
#include "base/strings.h"
#include "registry/kind_table.h"
#include "registry/template_warnings.h"
#include "registry/validation/pod_parts.h"

namespace portcullis::registry {
namespace {

constexpr FieldRule kRevisionRules[] = {
    {"revision", FieldRuleKind::kMinimum, "0"},
    {"data", FieldRuleKind::kImmutable},
};

// The selector of an apps/v1 workload: required, well formed, not empty, matching the template.
void CheckWorkloadSelector(json::Value spec, std::string_view kind, FieldErrors& errors) {
  const FieldPath path("spec", "selector");
  const json::Value selector = spec["selector"];
  if (selector.is_null()) {
    errors.push_back(api::Required(path, ""));
    return;
  }
  CheckLabelSelector(selector, path, errors);
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
  ValidatePodTemplateMetadata(spec["template"], path.Child("template"), errors);
  if (const std::string_view policy = spec["template"]["spec"]["restartPolicy"].AsString();
      policy != "Always") {
    errors.push_back(
        api::NotSupported(path.Child("template", "spec", "restartPolicy"), policy, {"Always"}));
  }
  if (!spec["template"]["spec"]["activeDeadlineSeconds"].is_null()) {
    errors.push_back(api::Forbidden(path.Child("template", "spec", "activeDeadlineSeconds"),
                                    "activeDeadlineSeconds in StatefulSet is not Supported"));
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

class DaemonSets final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    object = DefaultStrategy::PrepareForCreate(ctx, object);
    return WithTemplateGeneration(ctx, object, 1);
  }

  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    object = DefaultStrategy::PrepareForUpdate(ctx, object, old);
    if (!ctx.subresource.empty()) return object;
    std::int64_t number = 0;
    for (char c : old["metadata"]["annotations"][kTemplateGeneration].AsString()) {
      if (c >= '0' && c <= '9') number = number * 10 + (c - '0');
    }
    if (number == 0) return object;
    const bool changed = !(object["spec"]["template"] == old["spec"]["template"]);
    return WithTemplateGeneration(ctx, object, changed ? number + 1 : number);
  }

 private:
  static constexpr std::string_view kTemplateGeneration =
      "deprecated.daemonset.template.generation";

  static json::Value WithTemplateGeneration(const Context& ctx, json::Value object,
                                            std::int64_t number) {
    return json::SetPath(ctx.arena, object, {"metadata", "annotations", kTemplateGeneration},
                         json::String(ctx.arena, std::to_string(number)));
  }
};

}  // namespace

void AddApps(KindTable& table) {
  table.Add({.group = "",
             .resource = "replicationcontrollers",
             .validate = &ValidateReplicationController,
             .warn = &WarnOfTemplate,
             .traits = {.counts_generation = true}});
  table.Add({.group = "apps",
             .resource = "deployments",
             .validate = &ValidateDeployment,
             .validate_update = &ValidateDeploymentUpdate,
             .warn = &WarnOfTemplate,
             .traits = {.counts_generation = true}});
  table.Add({.group = "apps",
             .resource = "replicasets",
             .validate = &ValidateReplicaSet,
             .validate_update = &ValidateReplicaSetUpdate,
             .warn = &WarnOfTemplate,
             .traits = {.counts_generation = true}});
  table.Add({.group = "apps",
             .resource = "statefulsets",
             .validate = &ValidateStatefulSet,
             .validate_update = &ValidateStatefulSetUpdate,
             .warn = &WarnOfTemplate,
             .traits = {.counts_generation = true}});
  table.Add({.group = "apps",
             .resource = "daemonsets",
             .validate = &ValidateDaemonSet,
             .validate_update = &ValidateDaemonSetUpdate,
             .warn = &WarnOfTemplate,
             .traits = {.counts_generation = true},
             .make = &Make<DaemonSets>});
  table.Add({.group = "apps", .resource = "controllerrevisions", .rules = kRevisionRules});
}

}  // namespace portcullis::registry
