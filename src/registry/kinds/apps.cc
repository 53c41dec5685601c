// Kinds that keep pods running (pkg/apis/apps/validation; replication controllers in
// pkg/apis/core/validation).

#include <algorithm>
#include <set>

#include "api/selector/label_selector.h"
#include "base/strings.h"
#include "registry/kind_table.h"
#include "registry/template_warnings.h"
#include "registry/validation/go_diff.h"
#include "registry/validation/pod_parts.h"

namespace portcullis::registry {
namespace {

constexpr FieldRule kRevisionRules[] = {
    {"revision", FieldRuleKind::kMinimum, "0"},
    {"data", FieldRuleKind::kImmutable},
};

void ValidateControllerRevision(const Context& ctx, json::Value object, FieldErrors& errors) {
  (void)ctx;
  CheckFieldRules(kRevisionRules, object, nullptr, errors);
  const json::Value data = object["data"];
  if (data.is_object()) return;
  errors.push_back(api::Required(FieldPath("data"), data.is_null()
                                                        ? "data is mandatory"
                                                        : "data must be a valid JSON object"));
}

void ValidateControllerRevisionUpdate(const Context& ctx, json::Value object, json::Value old,
                                      FieldErrors& errors) {
  (void)ctx;
  CheckFieldRules(kRevisionRules, object, &old, errors);
}

// The selector: required, well formed, not empty.
void CheckSelector(json::Value spec, std::string_view kind, FieldErrors& errors) {
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

// A selector that is absent matches nothing. False if it cannot be read.
bool CheckTemplateMatches(json::Value spec, std::string_view unreadable, FieldErrors& errors) {
  const auto selector = api::LabelSelector::FromJson(spec["selector"]);
  if (!selector.ok()) {
    errors.push_back(api::Invalid(FieldPath("spec", "selector"), spec["selector"], unreadable));
    return false;
  }
  const json::Value labels = spec["template"]["metadata"]["labels"];
  if (!selector->is_everything() && !selector->Matches(labels)) {
    errors.push_back(api::Invalid(FieldPath("spec", "template", "metadata", "labels"), labels,
                                  "`selector` does not match template `labels`"));
  }
  return true;
}

// Pods of the kind always run.
void CheckEndless(json::Value pod_template, std::string_view kind, FieldErrors& errors) {
  const FieldPath path("spec", "template", "spec");
  if (const std::string_view policy = pod_template["spec"]["restartPolicy"].AsString();
      policy != "Always") {
    errors.push_back(api::NotSupported(path.Child("restartPolicy"), policy, {"Always"}));
  }
  if (!pod_template["spec"]["activeDeadlineSeconds"].is_null()) {
    errors.push_back(
        api::Forbidden(path.Child("activeDeadlineSeconds"),
                       base::StrCat("activeDeadlineSeconds in ", kind, " is not Supported")));
  }
}

void CheckReplicaTemplate(const Context& ctx, json::Value spec, FieldErrors& errors) {
  if (!CheckTemplateMatches(spec, "invalid label selector", errors)) return;
  ValidatePodTemplate(ctx, spec["template"], FieldPath("spec", "template"), errors);
  CheckEndless(spec["template"], "ReplicaSet", errors);
}

std::int64_t IntOrPercent(json::Value value) {
  if (const auto percent = PercentOf(value)) return *percent;
  return value.is_string() ? base::ParseInt(value.AsString()).value_or(0) : value.AsInt();
}

void CheckAtMostAll(json::Value value, const FieldPath& path, FieldErrors& errors) {
  const auto percent = PercentOf(value);
  if (percent && *percent > 100) {
    errors.push_back(api::Invalid(path, value, "must not be greater than 100%"));
  }
}

void CheckNumbers(json::Value status, std::initializer_list<std::string_view> fields,
                  FieldErrors& errors) {
  for (const std::string_view field : fields) {
    CheckNonNegative(status[field], FieldPath("status", field), errors);
  }
}

void CheckAtMost(json::Value status, std::string_view field, std::string_view limit,
                 std::string_view text, FieldErrors& errors) {
  if (status[field].AsInt() <= status[limit].AsInt()) return;
  errors.push_back(api::Invalid(FieldPath("status", field), status[field].AsInt(), text));
}

void CheckCollisions(json::Value status, json::Value old, FieldErrors& errors) {
  const std::int64_t now = status["collisionCount"].AsInt();
  if (old["collisionCount"].is_null() || now >= old["collisionCount"].AsInt()) return;
  errors.push_back(
      api::Invalid(FieldPath("status", "collisionCount"), now, "cannot be decremented"));
}

constexpr std::string_view kMoreThanReplicas = "cannot be greater than status.replicas";

// --- Deployments ---

void CheckDeploymentStrategy(const Context& ctx, json::Value strategy, FieldErrors& errors) {
  const FieldPath path("spec", "strategy");
  const FieldPath rolling_path = path.Child("rollingUpdate");
  const json::Value rolling = strategy["rollingUpdate"];
  const std::string_view type = strategy["type"].AsString();
  if (type == "Recreate") {
    if (rolling.is_null()) return;
    errors.push_back(
        api::Forbidden(rolling_path, "may not be specified when strategy `type` is 'Recreate'"));
  } else if (type != "RollingUpdate") {
    errors.push_back(
        api::NotSupported(path, GoValue(ctx, "io.k8s.api.apps.v1.DeploymentStrategy", strategy),
                          {"Recreate", "RollingUpdate"}));
  } else if (rolling.is_null()) {
    errors.push_back(api::Required(rolling_path, "this should be defaulted and never be nil"));
  } else {
    const json::Value most = rolling["maxUnavailable"];
    CheckIntOrPercent(most, rolling_path.Child("maxUnavailable"), errors);
    CheckIntOrPercent(rolling["maxSurge"], rolling_path.Child("maxSurge"), errors);
    if (IntOrPercent(most) == 0 && IntOrPercent(rolling["maxSurge"]) == 0) {
      errors.push_back(api::Invalid(rolling_path.Child("maxUnavailable"), most,
                                    "may not be 0 when `maxSurge` is 0"));
    }
    CheckAtMostAll(most, rolling_path.Child("maxUnavailable"), errors);
  }
}

void ValidateDeployment(const Context& ctx, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  CheckNonNegative(spec["replicas"], path.Child("replicas"), errors);
  CheckSelector(spec, "deployment", errors);
  CheckReplicaTemplate(ctx, spec, errors);
  CheckDeploymentStrategy(ctx, spec["strategy"], errors);
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
  if (ctx.subresource == "status") {
    const json::Value status = object["status"];
    CheckNumbers(
        status,
        {"observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
         "unavailableReplicas", "terminatingReplicas", "collisionCount"},
        errors);
    CheckAtMost(status, "updatedReplicas", "replicas", kMoreThanReplicas, errors);
    CheckAtMost(status, "readyReplicas", "replicas", kMoreThanReplicas, errors);
    CheckAtMost(status, "availableReplicas", "replicas", kMoreThanReplicas, errors);
    CheckAtMost(status, "availableReplicas", "readyReplicas",
                "cannot be greater than readyReplicas", errors);
    CheckCollisions(status, old["status"], errors);
    return;
  }
  ValidateDeployment(ctx, object, errors);
  CheckImmutable(object["spec"]["selector"], old["spec"]["selector"], FieldPath("spec", "selector"),
                 errors);
}

// --- ReplicaSets and replication controllers ---

void CheckReplicaStatus(json::Value status, FieldErrors& errors) {
  CheckNumbers(status,
               {"replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas",
                "terminatingReplicas", "observedGeneration"},
               errors);
  CheckAtMost(status, "fullyLabeledReplicas", "replicas", kMoreThanReplicas, errors);
  CheckAtMost(status, "readyReplicas", "replicas", kMoreThanReplicas, errors);
  CheckAtMost(status, "availableReplicas", "replicas", kMoreThanReplicas, errors);
  CheckAtMost(status, "availableReplicas", "readyReplicas", "cannot be greater than readyReplicas",
              errors);
}

void ValidateReplicaSet(const Context& ctx, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  CheckNonNegative(spec["replicas"], FieldPath("spec", "replicas"), errors);
  CheckNonNegative(spec["minReadySeconds"], FieldPath("spec", "minReadySeconds"), errors);
  CheckSelector(spec, "deployment", errors);
  CheckReplicaTemplate(ctx, spec, errors);
}

void ValidateReplicaSetUpdate(const Context& ctx, json::Value object, json::Value old,
                              FieldErrors& errors) {
  if (ctx.subresource == "status") return CheckReplicaStatus(object["status"], errors);
  ValidateReplicaSet(ctx, object, errors);
  CheckImmutable(object["spec"]["selector"], old["spec"]["selector"], FieldPath("spec", "selector"),
                 errors);
}

void ValidateReplicationController(const Context& ctx, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  CheckNonNegative(spec["minReadySeconds"], path.Child("minReadySeconds"), errors);
  if (spec["selector"].empty()) errors.push_back(api::Required(path.Child("selector"), ""));
  CheckNonNegative(spec["replicas"], path.Child("replicas"), errors);
  if (spec["template"].is_null()) {
    errors.push_back(api::Required(path.Child("template"), ""));
    return;
  }
  const json::Value labels = spec["template"]["metadata"]["labels"];
  if (!api::LabelSelector::FromSet(spec["selector"]).Matches(labels)) {
    errors.push_back(api::Invalid(path.Child("template", "metadata", "labels"), labels,
                                  "`selector` does not match template `labels`"));
  }
  ValidatePodTemplate(ctx, spec["template"], path.Child("template"), errors);
  CheckEndless(spec["template"], "ReplicationController", errors);
}

void ValidateReplicationControllerUpdate(const Context& ctx, json::Value object, json::Value,
                                         FieldErrors& errors) {
  if (ctx.subresource == "status") return CheckReplicaStatus(object["status"], errors);
  ValidateReplicationController(ctx, object, errors);
}

// --- DaemonSets ---

void CheckDaemonStrategy(const Context& ctx, json::Value strategy, FieldErrors& errors) {
  const FieldPath path("spec", "updateStrategy");
  const FieldPath rolling_path = path.Child("rollingUpdate");
  const std::string_view type = strategy["type"].AsString();
  if (type == "OnDelete") return;
  if (type != "RollingUpdate") {
    errors.push_back(api::NotSupported(
        path, GoValue(ctx, "io.k8s.api.apps.v1.DaemonSetUpdateStrategy", strategy),
        {"RollingUpdate", "OnDelete"}));
    return;
  }
  const json::Value rolling = strategy["rollingUpdate"];
  if (rolling.is_null()) {
    errors.push_back(api::Required(rolling_path, ""));
    return;
  }
  constexpr std::string_view kFields[] = {"maxUnavailable", "maxSurge"};
  for (const std::string_view field : kFields) {
    CheckIntOrPercent(rolling[field], rolling_path.Child(field), errors);
  }
  for (const std::string_view field : kFields) {
    CheckAtMostAll(rolling[field], rolling_path.Child(field), errors);
  }
  const bool takes_down = IntOrPercent(rolling["maxUnavailable"]) != 0;
  const bool surges = IntOrPercent(rolling["maxSurge"]) != 0;
  if (takes_down && surges) {
    errors.push_back(api::Invalid(rolling_path.Child("maxSurge"), rolling["maxSurge"],
                                  "may not be set when maxUnavailable is non-zero"));
  } else if (!takes_down && !surges) {
    errors.push_back(
        api::Required(rolling_path.Child("maxUnavailable"), "cannot be 0 when maxSurge is 0"));
  }
}

void ValidateDaemonSet(const Context& ctx, json::Value object, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  const json::Value selector = spec["selector"];
  CheckLabelSelector(selector, path.Child("selector"), errors);
  const auto parsed = api::LabelSelector::FromJson(selector);
  const json::Value labels = spec["template"]["metadata"]["labels"];
  if (parsed.ok() && !parsed->Matches(labels)) {
    errors.push_back(api::Invalid(path.Child("template", "metadata", "labels"), labels,
                                  "`selector` does not match template `labels`"));
  }
  if (!selector.is_null() && selector["matchLabels"].empty() &&
      selector["matchExpressions"].empty()) {
    errors.push_back(
        api::Invalid(path.Child("selector"), selector, "empty selector is invalid for daemonset"));
  }
  ValidatePodTemplate(ctx, spec["template"], path.Child("template"), errors);
  CheckEndless(spec["template"], "DaemonSet", errors);
  CheckNonNegative(spec["minReadySeconds"], path.Child("minReadySeconds"), errors);
  CheckDaemonStrategy(ctx, spec["updateStrategy"], errors);
  CheckNonNegative(spec["revisionHistoryLimit"], path.Child("revisionHistoryLimit"), errors);
}

void ValidateDaemonSetUpdate(const Context& ctx, json::Value object, json::Value old,
                             FieldErrors& errors) {
  if (ctx.subresource == "status") {
    CheckNumbers(object["status"],
                 {"currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled",
                  "numberReady", "observedGeneration", "updatedNumberScheduled", "numberAvailable",
                  "numberUnavailable", "collisionCount"},
                 errors);
    CheckCollisions(object["status"], old["status"], errors);
    return;
  }
  ValidateDaemonSet(ctx, object, errors);
  CheckImmutable(object["spec"]["selector"], old["spec"]["selector"], FieldPath("spec", "selector"),
                 errors);
}

// --- StatefulSets ---

void CheckStatefulStrategy(const Context& ctx, json::Value strategy, FieldErrors& errors) {
  const FieldPath path("spec", "updateStrategy");
  const FieldPath rolling_path = path.Child("rollingUpdate");
  const json::Value rolling = strategy["rollingUpdate"];
  const std::string_view type = strategy["type"].AsString();
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
    if (IntOrPercent(most) == 0) errors.push_back(api::Invalid(at, most, "cannot be 0"));
    CheckAtMostAll(most, at, errors);
  }
}

// The template with the volumes that the claims will be.
json::Value WithClaims(json::Arena& arena, json::Value spec) {
  const json::Value volumes = spec["template"]["spec"]["volumes"];
  json::ArrayBuilder all(arena);
  std::set<std::string_view> claims;
  for (const json::Value& claim : spec["volumeClaimTemplates"].elements()) {
    const json::Value name = claim["metadata"]["name"];
    claims.insert(name.AsString());
    all.Add(json::MakeObject(
        arena, {{"name", name},
                {"persistentVolumeClaim", json::MakeObject(arena, {{"claimName", name}})}}));
  }
  if (all.size() == 0) return spec["template"];
  for (const json::Value& volume : volumes.elements()) {
    if (!claims.contains(volume["name"].AsString())) all.Add(volume);
  }
  return json::SetPath(arena, spec["template"], {"spec", "volumes"}, all.Build());
}

// What was good enough when the object was made is not looked at again.
void CheckStatefulSet(const Context& ctx, json::Value object, bool is_new, FieldErrors& errors) {
  const json::Value spec = object["spec"];
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
  CheckSelector(spec, "statefulset", errors);
  if (CheckTemplateMatches(spec, "", errors)) {
    ValidatePodTemplate(ctx, WithClaims(ctx.arena, spec), path.Child("template"), errors);
  }
  CheckEndless(spec["template"], "StatefulSet", errors);
}

void ValidateStatefulSet(const Context& ctx, json::Value object, FieldErrors& errors) {
  CheckStatefulSet(ctx, object, /*is_new=*/true, errors);
}

void CheckStatefulStatus(json::Value status, json::Value old, FieldErrors& errors) {
  CheckNumbers(status,
               {"replicas", "readyReplicas", "currentReplicas", "updatedReplicas",
                "availableReplicas", "observedGeneration", "collisionCount"},
               errors);
  for (const std::string_view field :
       {"readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"}) {
    CheckAtMost(status, field, "replicas", kMoreThanReplicas, errors);
  }
  CheckAtMost(status, "availableReplicas", "readyReplicas",
              "cannot be greater than status.readyReplicas", errors);
  CheckCollisions(status, old, errors);
}

void ValidateStatefulSetUpdate(const Context& ctx, json::Value object, json::Value old,
                               FieldErrors& errors) {
  if (ctx.subresource == "status") {
    return CheckStatefulStatus(object["status"], old["status"], errors);
  }
  CheckStatefulSet(ctx, object, /*is_new=*/false, errors);
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

constexpr DisabledField kDisabledOfStatefulSets[] = {
    {"MaxUnavailableStatefulSet", "spec.updateStrategy.rollingUpdate.maxUnavailable"}};

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
             .validate_update = &ValidateReplicationControllerUpdate,
             .warn = &WarnOfTemplate,
             .traits = {.counts_generation = true},
             .pod_spec = "spec.template.spec"});
  table.Add({.group = "apps",
             .resource = "deployments",
             .validate = &ValidateDeployment,
             .validate_update = &ValidateDeploymentUpdate,
             .warn = &WarnOfTemplate,
             .traits = {.counts_generation = true, .status_keeps_labels = true},
             .pod_spec = "spec.template.spec"});
  table.Add({.group = "apps",
             .resource = "replicasets",
             .validate = &ValidateReplicaSet,
             .validate_update = &ValidateReplicaSetUpdate,
             .warn = &WarnOfTemplate,
             .traits = {.counts_generation = true},
             .pod_spec = "spec.template.spec"});
  table.Add({.group = "apps",
             .resource = "statefulsets",
             .validate = &ValidateStatefulSet,
             .validate_update = &ValidateStatefulSetUpdate,
             .warn = &WarnOfTemplate,
             .traits = {.counts_generation = true, .names = NameStyle::kLabel},
             .pod_spec = "spec.template.spec",
             .disabled = kDisabledOfStatefulSets});
  table.Add({.group = "apps",
             .resource = "daemonsets",
             .validate = &ValidateDaemonSet,
             .validate_update = &ValidateDaemonSetUpdate,
             .warn = &WarnOfTemplate,
             .traits = {.counts_generation = true},
             .pod_spec = "spec.template.spec",
             .make = &Make<DaemonSets>});
  table.Add({.group = "apps",
             .resource = "controllerrevisions",
             .validate = ValidateControllerRevision,
             .validate_update = ValidateControllerRevisionUpdate});
}

}  // namespace portcullis::registry
