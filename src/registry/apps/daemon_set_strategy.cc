// SPDX-License-Identifier: Apache-2.0

// DaemonSets (pkg/apis/apps/validation, pkg/registry/apps/daemonset).

#include <algorithm>
#include <charconv>

#include "api/selector/label_selector.h"
#include "registry/apps/workload_checks.h"
#include "registry/kind_table.h"
#include "registry/pods/pod_parts.h"
#include "registry/pods/template_warnings.h"
#include "registry/validation/go_diff.h"

namespace portcullis::registry {
namespace {

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
    CheckAtMostHundredPercent(rolling[field], rolling_path.Child(field), errors);
  }
  const bool takes_down = NumberOrPercent(rolling["maxUnavailable"]) != 0;
  const bool surges = NumberOrPercent(rolling["maxSurge"]) != 0;
  if (takes_down && surges) {
    errors.push_back(api::Invalid(rolling_path.Child("maxSurge"), rolling["maxSurge"],
                                  "may not be set when maxUnavailable is non-zero"));
  } else if (!takes_down && !surges) {
    errors.push_back(
        api::Required(rolling_path.Child("maxUnavailable"), "cannot be 0 when maxSurge is 0"));
  }
}

// `old` is null for a new one.
void CheckDaemonSet(const Context& ctx, json::Value object, json::Value old, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  const json::Value selector = spec["selector"];
  CheckLabelSelector(selector, path.Child("selector"), errors);
  const auto parsed = api::LabelSelector::FromJson(selector);
  const json::Value labels = spec["template"]["metadata"]["labels"];
  if (parsed.ok() && !parsed->Matches(labels)) {
    errors.push_back(TemplateDoesNotMatch(ctx, spec));
  }
  if (!selector.is_null() && selector["matchLabels"].empty() &&
      selector["matchExpressions"].empty()) {
    errors.push_back(
        api::Invalid(path.Child("selector"), selector, EmptySelectorText(ctx, "daemonset")));
  }
  ValidatePodTemplate(ctx, spec["template"], old["spec"]["template"], path.Child("template"),
                      errors);
  CheckAlwaysRestarts(spec["template"], "DaemonSet", errors);
  CheckNonNegative(spec["minReadySeconds"], path.Child("minReadySeconds"), errors);
  CheckDaemonStrategy(ctx, spec["updateStrategy"], errors);
  CheckNonNegative(spec["revisionHistoryLimit"], path.Child("revisionHistoryLimit"), errors);
}

void ValidateDaemonSet(const Context& ctx, json::Value object, FieldErrors& errors) {
  CheckDaemonSet(ctx, object, {}, errors);
}

void ValidateDaemonSetUpdate(const Context& ctx, json::Value object, json::Value old,
                             FieldErrors& errors) {
  if (ctx.subresource == "status") {
    CheckStatusCounts(object["status"],
                      {"currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled",
                       "numberReady", "observedGeneration", "updatedNumberScheduled",
                       "numberAvailable", "numberUnavailable", "collisionCount"},
                      errors);
    CheckCollisionCount(object["status"], old["status"], errors);
    return;
  }
  CheckSelectorStays(ctx, object, old, errors);
  CheckDaemonSet(ctx, object, old, errors);
}

class DaemonSets final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    object = DefaultStrategy::PrepareForCreate(ctx, object);
    return WithTemplateGeneration(ctx, object,
                                  std::max<std::int64_t>(1, TemplateGeneration(ctx, object)));
  }

  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    object = DefaultStrategy::PrepareForUpdate(ctx, object, old);
    const std::int64_t number = TemplateGeneration(ctx, old);
    if (number == 0) return object;
    const bool changed =
        ctx.subresource.empty() && !(object["spec"]["template"] == old["spec"]["template"]);
    return WithTemplateGeneration(ctx, object, changed ? number + 1 : number);
  }

 private:
  static constexpr std::string_view kTemplateGeneration =
      "deprecated.daemonset.template.generation";

  // A field of extensions/v1beta1 (docs/legacy.md).
  static bool HasField(const Context& ctx) { return ctx.resource.group == "extensions"; }

  static std::int64_t TemplateGeneration(const Context& ctx, json::Value object) {
    if (HasField(ctx)) return object["spec"]["templateGeneration"].AsInt();
    const std::string_view text = object["metadata"]["annotations"][kTemplateGeneration].AsString();
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }

  static json::Value WithTemplateGeneration(const Context& ctx, json::Value object,
                                            std::int64_t number) {
    if (HasField(ctx)) {
      return json::SetPath(ctx.arena, object, {"spec", "templateGeneration"},
                           json::Value::Int(number));
    }
    return json::SetPath(ctx.arena, object, {"metadata", "annotations", kTemplateGeneration},
                         json::String(ctx.arena, std::to_string(number)));
  }
};

}  // namespace

void AddDaemonSetStrategy(KindTable& table) {
  table.Add({.group = "apps",
             .resource = "daemonsets",
             .validate = &ValidateDaemonSet,
             .validate_update = &ValidateDaemonSetUpdate,
             .warn = &WarnOfTemplateOnly,
             .traits = {.counts_generation = true},
             .zero_fields =
                 R"({"metadata":{"annotations":{"deprecated.daemonset.template.generation":"0"}}})",
             .pod_spec = "spec.template.spec",
             .make = &Make<DaemonSets>});
}

}  // namespace portcullis::registry
