// SPDX-License-Identifier: Apache-2.0

// HorizontalPodAutoscalers (pkg/apis/autoscaling/validation). Objects are in autoscaling/v2.

#include <array>

#include "api/conversion/conversion_functions.h"
#include "api/named_value.h"
#include "api/names.h"
#include "base/strings.h"
#include "registry/kind_table.h"
#include "registry/validation/resource_names.h"

namespace portcullis::registry {
namespace {

void CheckSegment(json::Value value, const FieldPath& path, std::string_view missing,
                  FieldErrors& errors) {
  const std::string_view text = value.AsString();
  if (text.empty()) {
    errors.push_back(api::Required(path, missing));
  } else {
    AddInvalid(path, text, IsPathSegmentName(text, false), errors);
  }
}

// What is checked of the apiVersion of a reference.
enum class VersionCheck : std::uint8_t { kNone, kVersion, kGroupAndVersion };

// The text of what is wrong with an apiVersion, "" if nothing.
std::string WrongVersion(json::Value reference, VersionCheck check) {
  if (check == VersionCheck::kNone) return "";
  const auto version = api::ParseGroupVersion(reference["apiVersion"].AsString());
  if (!version.ok()) return std::string(version.status().message());
  const bool no_group = version->group.empty();
  return check == VersionCheck::kGroupAndVersion && no_group ? "apiVersion must specify API group"
                                                             : "";
}

void CheckReference(json::Value reference, VersionCheck check, const FieldPath& path,
                    FieldErrors& errors) {
  CheckSegment(reference["kind"], path.Child("kind"), "", errors);
  CheckSegment(reference["name"], path.Child("name"), "", errors);
  if (const std::string wrong = WrongVersion(reference, check); !wrong.empty()) {
    errors.push_back(
        api::Invalid(path.Child("apiVersion"), reference["apiVersion"].AsString(), wrong));
  }
}

// What stored objects got away with, an update need not mend.
struct VersionChecks {
  VersionCheck target = VersionCheck::kGroupAndVersion;
  VersionCheck objects = VersionCheck::kVersion;
};

VersionChecks VersionChecksOf(json::Value object, json::Value old) {
  VersionChecks checks;
  const json::Value target = object["spec"]["scaleTargetRef"];
  const json::Value before = old["spec"]["scaleTargetRef"];
  if (!old.is_null() && before["apiVersion"].AsString() == target["apiVersion"].AsString() &&
      before["kind"] == target["kind"]) {
    checks.target = VersionCheck::kNone;
  } else if (target["kind"].AsString() == "ReplicationController") {
    checks.target = VersionCheck::kVersion;
  }
  for (const json::Value& metric : old["spec"]["metrics"].elements()) {
    if (metric["type"].AsString() != "Object" || metric["object"].is_null()) continue;
    if (!WrongVersion(metric["object"]["describedObject"], checks.objects).empty()) {
      checks.objects = VersionCheck::kNone;
    }
  }
  return checks;
}

void CheckTarget(json::Value target, const FieldPath& path, FieldErrors& errors) {
  const std::string_view type = target["type"].AsString();
  if (type.empty()) {
    errors.push_back(api::Required(path.Child("type"), "must specify a metric target type"));
  }
  if (type != "Utilization" && type != "Value" && type != "AverageValue") {
    errors.push_back(api::Invalid(path.Child("type"), api::NamedValue(type),
                                  "must be either Utilization, Value, or AverageValue"));
  }
  for (const std::string_view field : {"value", "averageValue"}) {
    if (target[field].is_null()) continue;
    const api::Quantity amount = QuantityOf(target[field]);
    if (amount.Sign() <= 0) {
      errors.push_back(api::Invalid(path.Child(field), amount.ToString(), "must be positive"));
    }
  }
  if (const json::Value share = target["averageUtilization"];
      !share.is_null() && share.AsInt() < 1) {
    errors.push_back(
        api::Invalid(path.Child("averageUtilization"), share.AsInt(), "must be greater than 0"));
  }
}

void CheckIdentifier(json::Value metric, const FieldPath& path, FieldErrors& errors) {
  CheckSegment(metric["name"], path.Child("name"), "must specify a metric name", errors);
}

void CheckResourceTarget(json::Value source, const FieldPath& path, FieldErrors& errors) {
  const json::Value target = source["target"];
  const FieldPath at = path.Child("target");
  CheckTarget(target, at, errors);
  const bool share = !target["averageUtilization"].is_null();
  const bool raw = !target["averageValue"].is_null();
  if (!share && !raw) {
    errors.push_back(api::Required(at.Child("averageUtilization"),
                                   "must set either a target raw value or a target utilization"));
  } else if (share && raw) {
    errors.push_back(api::Forbidden(
        at.Child("averageValue"), "may not set both a target raw value and a target utilization"));
  }
}

void CheckSource(std::string_view kind, json::Value source, VersionCheck check,
                 const FieldPath& path, FieldErrors& errors) {
  if (kind == "resource" || kind == "containerResource") {
    if (source["name"].AsString().empty()) {
      errors.push_back(api::Required(path.Child("name"), "must specify a resource name"));
    }
    if (kind == "containerResource") {
      if (const std::string_view name = source["name"].AsString(); !name.empty()) {
        CheckNameOfContainerResource(name, path.Child("name"), errors);
      }
      const std::string_view container = source["container"].AsString();
      if (container.empty()) {
        errors.push_back(api::Required(path.Child("container"), "must specify a container"));
      } else {
        CheckDnsLabel(container, path.Child("container"), errors);
      }
    }
    CheckResourceTarget(source, path, errors);
    return;
  }
  if (kind == "object") {
    CheckReference(source["describedObject"], check, path.Child("describedObject"), errors);
  }
  CheckIdentifier(source["metric"], path.Child("metric"), errors);
  const json::Value target = source["target"];
  const FieldPath at = path.Child("target");
  CheckTarget(target, at, errors);
  const bool whole = !target["value"].is_null();
  const bool average = !target["averageValue"].is_null();
  if (kind == "pods") {
    if (!average) {
      errors.push_back(
          api::Required(at.Child("averageValue"), "must specify a positive target averageValue"));
    }
  } else if (!whole && !average) {
    errors.push_back(api::Required(
        at.Child("averageValue"),
        kind == "object" ? "must set either a target value or averageValue"
                         : "must set either a target value for metric or a per-pod target"));
  } else if (whole && average && kind == "external") {
    errors.push_back(api::Forbidden(
        at.Child("value"), "may not set both a target value for metric and a per-pod target"));
  }
}

struct MetricType {
  std::string_view type;
  std::string_view field;
};
constexpr std::array<MetricType, 5> kTypes = {{{"Object", "object"},
                                               {"External", "external"},
                                               {"Pods", "pods"},
                                               {"Resource", "resource"},
                                               {"ContainerResource", "containerResource"}}};

void CheckMetric(json::Value metric, VersionCheck check, const FieldPath& path,
                 FieldErrors& errors) {
  const std::string_view type = metric["type"].AsString();
  if (type.empty()) {
    errors.push_back(api::Required(path.Child("type"), "must specify a metric source type"));
  }
  const auto check_type = [&] {
    return CheckOneOf(metric["type"], path.Child("type"),
                      {"ContainerResource", "External", "Object", "Pods", "Resource"}, errors);
  };
  const bool known = check_type();
  std::size_t present = 0;
  for (const MetricType& one : kTypes) {
    if (metric[one.field].is_null()) continue;
    if (++present == 1) {
      CheckSource(one.field, metric[one.field], check, path.Child(one.field), errors);
    }
  }
  std::string_view expected;
  for (const MetricType& one : kTypes) {
    if (one.type != type) continue;
    expected = one.field;
    if (metric[one.field].is_null()) {
      errors.push_back(api::Required(path.Child(one.field),
                                     "must populate information for the given metric source"));
    }
  }
  if (!known) check_type();  // Kubernetes tells it twice
  if (present == 1) return;
  for (const MetricType& one : kTypes) {
    if (metric[one.field].is_null() || one.field == expected) continue;
    errors.push_back(
        api::Forbidden(path.Child(one.field), "must populate the given metric source only"));
  }
}

void CheckScalingPolicy(json::Value policy, const FieldPath& path, FieldErrors& errors) {
  CheckOneOf(policy["type"], path.Child("type"), {"Percent", "Pods"}, errors);
  for (const std::string_view field : {"value", "periodSeconds"}) {
    const std::int64_t number = policy[field].AsInt();
    if (number <= 0) {
      errors.push_back(api::Invalid(path.Child(field), number, "must be greater than zero"));
    }
  }
  if (const std::int64_t period = policy["periodSeconds"].AsInt(); period > 1800) {
    errors.push_back(
        api::Invalid(path.Child("periodSeconds"), period, "must be less than or equal to 1800"));
  }
}

void CheckScalingRules(json::Value rules, const FieldPath& path, FieldErrors& errors) {
  if (rules.is_null()) return;
  const FieldPath window_path = path.Child("stabilizationWindowSeconds");
  if (const json::Value window = rules["stabilizationWindowSeconds"]; !window.is_null()) {
    if (window.AsInt() < 0) {
      errors.push_back(
          api::Invalid(window_path, window.AsInt(), "must be greater than or equal to zero"));
    }
    if (window.AsInt() > 3600) {
      errors.push_back(
          api::Invalid(window_path, window.AsInt(), "must be less than or equal to 3600"));
    }
  }
  if (!rules["selectPolicy"].is_null()) {
    CheckOneOf(rules["selectPolicy"], path.Child("selectPolicy"), {"Disabled", "Max", "Min"},
               errors);
  }
  const FieldPath policies = path.Child("policies");
  if (rules["policies"].empty()) {
    errors.push_back(api::Required(policies, "must specify at least one Policy"));
  }
  std::size_t index = 0;
  for (const json::Value& policy : rules["policies"].elements()) {
    CheckScalingPolicy(policy, policies.Index(index++), errors);
  }
  if (!rules["tolerance"].is_null() && QuantityOf(rules["tolerance"]).Sign() < 0) {
    errors.push_back(api::Invalid(path.Child("tolerance"),
                                  QuantityOf(rules["tolerance"]).ToString(),
                                  "must be greater than or equal to 0"));
  }
}

// Zero replicas are for those who measure something else than the pods, behind a gate.
void CheckNoReplicas(json::Value spec, const FieldPath& path, FieldErrors& errors) {
  if (spec["minReplicas"].is_null() || spec["minReplicas"].AsInt() != 0) return;
  for (const json::Value& metric : spec["metrics"].elements()) {
    const std::string_view type = metric["type"].AsString();
    if (type == "Object" || type == "External") return;
  }
  errors.push_back(api::Forbidden(path.Child("metrics"),
                                  "must specify at least one Object or External metric to "
                                  "support scaling to zero replicas"));
}

void CheckAutoscaler(const Context& ctx, json::Value object, json::Value old, FieldErrors& errors) {
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  const std::int64_t least = spec["minReplicas"].AsInt(1);
  const std::int64_t most = spec["maxReplicas"].AsInt();
  const json::Value before = old["spec"]["minReplicas"];
  const bool may_be_zero =
      ctx.release->GateEnabled("HPAScaleToZero") || (!before.is_null() && before.AsInt() == 0);
  if (const std::int64_t bound = may_be_zero ? 0 : 1; least < bound) {
    errors.push_back(
        api::Invalid(path.Child("minReplicas"), least,
                     base::StrCat("must be greater than or equal to ", std::to_string(bound))));
  }
  if (most == 0) {
    errors.push_back(api::Required(path.Child("maxReplicas"), "must be set and greater than 0"));
  } else if (most < 0) {
    errors.push_back(
        api::Invalid(path.Child("maxReplicas"), most, "must be greater than or equal to 1"));
  }
  if (!spec["minReplicas"].is_null() && most < least) {
    errors.push_back(api::Invalid(path.Child("maxReplicas"), most,
                                  "must be greater than or equal to `minReplicas`"));
  }
  const VersionChecks checks = VersionChecksOf(object, old);
  CheckReference(spec["scaleTargetRef"], checks.target, path.Child("scaleTargetRef"), errors);
  std::size_t index = 0;
  for (const json::Value& metric : spec["metrics"].elements()) {
    CheckMetric(metric, checks.objects, path.Child("metrics").Index(index++), errors);
  }
  CheckNoReplicas(spec, path, errors);
  for (const std::string_view direction : {"scaleUp", "scaleDown"}) {
    CheckScalingRules(spec["behavior"][direction], path.Child("behavior", direction), errors);
  }
}

void ValidateHorizontalPodAutoscaler(const Context& ctx, json::Value object, FieldErrors& errors) {
  CheckAutoscaler(ctx, object, {}, errors);
}

void ValidateHorizontalPodAutoscalerUpdate(const Context& ctx, json::Value object, json::Value old,
                                           FieldErrors& errors) {
  if (ctx.subresource.empty()) return CheckAutoscaler(ctx, object, old, errors);
  for (const std::string_view field : {"currentReplicas", "desiredReplicas"}) {
    CheckNonNegative(object["status"][field], FieldPath("status", field), errors);
  }
}

// In v2 the annotations say nothing; v1 has in them what it has no fields for, of which a write changes
// what belongs to its part. `old`: what is stored.
json::Value WithoutOtherPart(const Context& ctx, json::Value object, json::Value old) {
  if (object["apiVersion"].AsString() != "autoscaling/v1") {
    return api::WithoutAutoscalerAnnotations(ctx.arena, object);
  }
  const bool writes_spec = ctx.subresource.empty();
  return api::WithAutoscalerAnnotations(
      ctx.arena, object, old,
      writes_spec ? api::AutoscalerPart::kStatus : api::AutoscalerPart::kSpec);
}

class Autoscalers final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    return DefaultStrategy::PrepareForCreate(ctx, WithoutOtherPart(ctx, object, {}));
  }
  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    return DefaultStrategy::PrepareForUpdate(ctx, WithoutOtherPart(ctx, object, old), old);
  }
};

constexpr DisabledField kDisabledOfAutoscalers[] = {
    {"HPAConfigurableTolerance", "spec.behavior.scaleDown.tolerance"},
    {"HPAConfigurableTolerance", "spec.behavior.scaleUp.tolerance"}};

}  // namespace

void AddHorizontalPodAutoscalerStrategy(KindTable& table) {
  table.Add({.group = "autoscaling",
             .resource = "horizontalpodautoscalers",
             .validate = &ValidateHorizontalPodAutoscaler,
             .validate_update = &ValidateHorizontalPodAutoscalerUpdate,
             .judged_in = "v2",
             .disabled = kDisabledOfAutoscalers,
             .make = &Make<Autoscalers>});
}

}  // namespace portcullis::registry
