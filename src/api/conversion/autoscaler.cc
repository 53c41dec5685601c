// SPDX-License-Identifier: Apache-2.0

// autoscaling/v1 knows one metric, the average CPU utilisation. Everything else an autoscaler says
// in v2 travels in annotations of the v1 object: metrics and their status in an older shape, the
// behavior under the names of the fields of Go's struct.
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "api/conversion/conversion_functions.h"
#include "api/quantity.h"
#include "base/strings.h"
#include "json/edit.h"
#include "json/reader.h"
#include "json/sorted.h"
#include "json/writer.h"

namespace portcullis::api {
namespace {

using json::Value;

constexpr std::string_view kMetrics = "autoscaling.alpha.kubernetes.io/metrics";
constexpr std::string_view kBehavior = "autoscaling.alpha.kubernetes.io/behavior";
constexpr std::string_view kConditions = "autoscaling.alpha.kubernetes.io/conditions";
constexpr std::string_view kCurrentMetrics = "autoscaling.alpha.kubernetes.io/current-metrics";
// No object of either version keeps these unless the conversion itself has set them.
constexpr std::string_view kOwnAnnotations[] = {
    kMetrics,
    kBehavior,
    kConditions,
    kCurrentMetrics,
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
};

void Copy(json::ObjectBuilder& to, std::string_view name, Value value) {
  if (!value.is_null()) to.Set(name, value);
}

Value TextOrEmpty(Value value) { return value.is_null() ? Value::StringView("") : value; }

// A quantity that Go writes even if it is unset.
Value QuantityOrZero(Value value) { return value.is_null() ? Value::StringView("0") : value; }

bool IsZeroQuantity(Value value) {
  if (value.is_null()) return true;
  const auto quantity = Quantity::Parse(value.AsString());
  return quantity.ok() && quantity->is_zero();
}

// A CrossVersionObjectReference in Go's order.
Value Reference(json::Arena& arena, Value reference) {
  json::ObjectBuilder out(arena);
  out.Set("kind", TextOrEmpty(reference["kind"])).Set("name", TextOrEmpty(reference["name"]));
  Copy(out, "apiVersion", reference["apiVersion"]);
  return out.Build();
}

// A LabelSelector as Go writes it into an annotation.
Value Selector(json::Arena& arena, Value selector) {
  if (!selector.is_object()) return {};
  json::ObjectBuilder out(arena);
  for (const std::string_view name : {"matchLabels", "matchExpressions"}) {
    if (!selector[name].empty()) out.Set(name, json::Sorted(arena, selector[name]));
  }
  return out.Build();
}

// {"name", "selector"} of a metric identified by metricName.
Value Identifier(json::Arena& arena, Value name, Value selector) {
  json::ObjectBuilder metric(arena);
  metric.Set("name", TextOrEmpty(name));
  Copy(metric, "selector", selector);
  return metric.Build();
}

Value TargetOf(json::Arena& arena, std::string_view type, Value value, Value average,
               Value utilization) {
  json::ObjectBuilder target(arena);
  target.Set("type", Value::StringView(type));
  Copy(target, "value", value);
  Copy(target, "averageValue", average);
  Copy(target, "averageUtilization", utilization);
  return target.Build();
}

Value SourceFromV1(json::Arena& arena, std::string_view kind, Value source) {
  json::ObjectBuilder out(arena);
  if (kind == "object") {
    const Value average = source["averageValue"];
    const bool of_average = !average.is_null();
    // Beside an average, a value of zero is one that v1 could not leave out.
    const bool has_value = !of_average || !IsZeroQuantity(source["targetValue"]);
    out.Set("describedObject", Reference(arena, source["target"]));
    out.Set("target",
            TargetOf(arena, of_average ? "AverageValue" : "Value",
                     has_value ? QuantityOrZero(source["targetValue"]) : Value(), average, {}));
    out.Set("metric", Identifier(arena, source["metricName"], source["selector"]));
  } else if (kind == "pods") {
    out.Set("metric", Identifier(arena, source["metricName"], source["selector"]));
    out.Set("target",
            TargetOf(arena, "AverageValue", {}, QuantityOrZero(source["targetAverageValue"]), {}));
  } else if (kind == "external") {
    const Value value = source["targetValue"];
    out.Set("metric", Identifier(arena, source["metricName"], source["metricSelector"]));
    out.Set("target", TargetOf(arena, value.is_null() ? "AverageValue" : "Value", value,
                               source["targetAverageValue"], {}));
  } else {
    const Value utilization = source["targetAverageUtilization"];
    out.Set("name", TextOrEmpty(source["name"]));
    out.Set("target", TargetOf(arena, utilization.is_null() ? "AverageValue" : "Utilization", {},
                               source["targetAverageValue"], utilization));
    if (kind == "containerResource") out.Set("container", TextOrEmpty(source["container"]));
  }
  return out.Build();
}

Value SourceToV1(json::Arena& arena, std::string_view kind, Value source) {
  const Value target = source["target"];
  const Value metric = source["metric"];
  json::ObjectBuilder out(arena);
  if (kind == "object") {
    out.Set("target", Reference(arena, source["describedObject"]));
    out.Set("metricName", TextOrEmpty(metric["name"]));
    out.Set("targetValue", QuantityOrZero(target["value"]));
    Copy(out, "selector", Selector(arena, metric["selector"]));
    Copy(out, "averageValue", target["averageValue"]);
  } else if (kind == "pods") {
    out.Set("metricName", TextOrEmpty(metric["name"]));
    out.Set("targetAverageValue", QuantityOrZero(target["averageValue"]));
    Copy(out, "selector", Selector(arena, metric["selector"]));
  } else if (kind == "external") {
    out.Set("metricName", TextOrEmpty(metric["name"]));
    Copy(out, "metricSelector", Selector(arena, metric["selector"]));
    Copy(out, "targetValue", target["value"]);
    Copy(out, "targetAverageValue", target["averageValue"]);
  } else {
    out.Set("name", TextOrEmpty(source["name"]));
    Copy(out, "targetAverageUtilization", target["averageUtilization"]);
    Copy(out, "targetAverageValue", target["averageValue"]);
    if (kind == "containerResource") out.Set("container", TextOrEmpty(source["container"]));
  }
  return out.Build();
}

Value Current(json::Arena& arena, Value value, Value average, Value utilization) {
  json::ObjectBuilder current(arena);
  Copy(current, "value", value);
  Copy(current, "averageValue", average);
  Copy(current, "averageUtilization", utilization);
  return current.Build();
}

Value StatusFromV1(json::Arena& arena, std::string_view kind, Value status) {
  json::ObjectBuilder out(arena);
  if (kind == "object") {
    out.Set("metric", Identifier(arena, status["metricName"], status["selector"]));
    out.Set("current",
            Current(arena, QuantityOrZero(status["currentValue"]), status["averageValue"], {}));
    out.Set("describedObject", Reference(arena, status["target"]));
  } else if (kind == "pods") {
    out.Set("metric", Identifier(arena, status["metricName"], status["selector"]));
    out.Set("current", Current(arena, {}, QuantityOrZero(status["currentAverageValue"]), {}));
  } else if (kind == "external") {
    out.Set("metric", Identifier(arena, status["metricName"], status["metricSelector"]));
    out.Set("current", Current(arena, QuantityOrZero(status["currentValue"]),
                               status["currentAverageValue"], {}));
  } else {
    out.Set("name", TextOrEmpty(status["name"]));
    if (kind == "containerResource") out.Set("container", TextOrEmpty(status["container"]));
    out.Set("current",
            Current(arena, {}, status["currentAverageValue"], status["currentAverageUtilization"]));
  }
  return out.Build();
}

// What a client has sent: Go's type of v1 has a value where there is none.
Value SentStatusFromV1(json::Arena& arena, std::string_view kind, Value status) {
  const bool of_resource = kind == "resource" || kind == "containerResource";
  if (!of_resource) return StatusFromV1(arena, kind, status);
  constexpr std::string_view kAverage = "currentAverageValue";
  return StatusFromV1(arena, kind,
                      json::With(arena, status, kAverage, QuantityOrZero(status[kAverage])));
}

Value StatusToV1(json::Arena& arena, std::string_view kind, Value status) {
  const Value current = status["current"];
  const Value metric = status["metric"];
  json::ObjectBuilder out(arena);
  if (kind == "object") {
    out.Set("target", Reference(arena, status["describedObject"]));
    out.Set("metricName", TextOrEmpty(metric["name"]));
    out.Set("currentValue", QuantityOrZero(current["value"]));
    Copy(out, "selector", Selector(arena, metric["selector"]));
    Copy(out, "averageValue", current["averageValue"]);
  } else if (kind == "pods") {
    out.Set("metricName", TextOrEmpty(metric["name"]));
    out.Set("currentAverageValue", QuantityOrZero(current["averageValue"]));
    Copy(out, "selector", Selector(arena, metric["selector"]));
  } else if (kind == "external") {
    out.Set("metricName", TextOrEmpty(metric["name"]));
    Copy(out, "metricSelector", Selector(arena, metric["selector"]));
    out.Set("currentValue", QuantityOrZero(current["value"]));
    Copy(out, "currentAverageValue", current["averageValue"]);
  } else {
    out.Set("name", TextOrEmpty(status["name"]));
    Copy(out, "currentAverageUtilization", current["averageUtilization"]);
    out.Set("currentAverageValue", QuantityOrZero(current["averageValue"]));
    if (kind == "containerResource") out.Set("container", TextOrEmpty(status["container"]));
  }
  return out.Build();
}

// Of resources without an average value if there is none, where Go writes "0" in v1.
Value ExactStatusToV1(json::Arena& arena, std::string_view kind, Value status) {
  const Value made = StatusToV1(arena, kind, status);
  const bool of_resource = kind == "resource" || kind == "containerResource";
  const bool has_average = !of_resource || !status["current"]["averageValue"].is_null();
  return has_average ? made : json::Without(arena, made, "currentAverageValue");
}

using ConvertSource = Value (*)(json::Arena&, std::string_view, Value);

// A MetricSpec or MetricStatus.
Value ConvertMetric(json::Arena& arena, Value metric, ConvertSource convert) {
  json::ObjectBuilder out(arena);
  out.Set("type", TextOrEmpty(metric["type"]));
  for (const std::string_view kind :
       {"object", "pods", "resource", "containerResource", "external"}) {
    if (metric[kind].is_object()) out.Set(kind, convert(arena, kind, metric[kind]));
  }
  return out.Build();
}

Value ConvertMetrics(json::Arena& arena, Value metrics, ConvertSource convert) {
  json::ArrayBuilder out(arena);
  for (const Value metric : metrics.elements()) out.Add(ConvertMetric(arena, metric, convert));
  return out.Build();
}

bool IsCpu(Value metric) {
  return metric["type"].AsString() == "Resource" && metric["resource"]["name"].AsString() == "cpu";
}

Value CpuMetric(json::Arena& arena, Value percentage) {
  json::ObjectBuilder resource(arena);
  resource.Set("name", "cpu").Set("target", TargetOf(arena, "Utilization", {}, {}, percentage));
  json::ObjectBuilder metric(arena);
  metric.Set("type", "Resource").Set("resource", resource.Build());
  return metric.Build();
}

Value CpuStatus(json::Arena& arena, Value percentage) {
  json::ObjectBuilder resource(arena);
  resource.Set("name", "cpu").Set("current", Current(arena, {}, {}, percentage));
  json::ObjectBuilder metric(arena);
  metric.Set("type", "Resource").Set("resource", resource.Build());
  json::ArrayBuilder list(arena);
  list.Add(metric.Build());
  return list.Build();
}

// Go finds the fields of a struct whatever their case.
Value FindAnyCase(Value object, std::string_view name) {
  for (const json::Member& member : object.members()) {
    if (base::EqualsIgnoreCase(member.name(), name)) return member.value;
  }
  return {};
}

Value NumberOrZero(Value value) { return value.is_null() ? Value::Int(0) : value; }

// The rules of one direction as Go writes a struct without tags: nothing is left out.
Value RulesToGo(json::Arena& arena, Value rules) {
  if (!rules.is_object()) return {};
  Value policies;
  if (rules["policies"].is_array()) {
    json::ArrayBuilder list(arena);
    for (const Value policy : rules["policies"].elements()) {
      json::ObjectBuilder out(arena);
      out.Set("Type", TextOrEmpty(policy["type"])).Set("Value", NumberOrZero(policy["value"]));
      out.Set("PeriodSeconds", NumberOrZero(policy["periodSeconds"]));
      list.Add(out.Build());
    }
    policies = list.Build();
  }
  json::ObjectBuilder out(arena);
  out.Set("StabilizationWindowSeconds", rules["stabilizationWindowSeconds"]);
  out.Set("SelectPolicy", rules["selectPolicy"]);
  out.Set("Policies", policies);
  out.Set("Tolerance", rules["tolerance"]);
  return out.Build();
}

Value RulesFromGo(json::Arena& arena, Value rules) {
  json::ObjectBuilder out(arena);
  Copy(out, "stabilizationWindowSeconds", FindAnyCase(rules, "StabilizationWindowSeconds"));
  Copy(out, "selectPolicy", FindAnyCase(rules, "SelectPolicy"));
  if (const Value policies = FindAnyCase(rules, "Policies"); policies.is_array()) {
    json::ArrayBuilder list(arena);
    for (const Value policy : policies.elements()) {
      json::ObjectBuilder one(arena);
      one.Set("type", TextOrEmpty(FindAnyCase(policy, "Type")));
      one.Set("value", NumberOrZero(FindAnyCase(policy, "Value")));
      one.Set("periodSeconds", NumberOrZero(FindAnyCase(policy, "PeriodSeconds")));
      list.Add(one.Build());
    }
    out.Set("policies", list.Build());
  }
  Copy(out, "tolerance", FindAnyCase(rules, "Tolerance"));
  return out.Build();
}

Value BehaviorToGo(json::Arena& arena, Value behavior) {
  if (!behavior.is_object()) return {};
  json::ObjectBuilder out(arena);
  out.Set("ScaleUp", RulesToGo(arena, behavior["scaleUp"]));
  out.Set("ScaleDown", RulesToGo(arena, behavior["scaleDown"]));
  return out.Build();
}

// Null if it says nothing.
Value BehaviorFromGo(json::Arena& arena, Value behavior) {
  json::ObjectBuilder out(arena);
  const Value up = FindAnyCase(behavior, "ScaleUp");
  const Value down = FindAnyCase(behavior, "ScaleDown");
  if (!up.is_object() && !down.is_object()) return {};
  if (up.is_object()) out.Set("scaleUp", RulesFromGo(arena, up));
  if (down.is_object()) out.Set("scaleDown", RulesFromGo(arena, down));
  return out.Build();
}

// Amounts below the value as Go writes them.
Value WithCanonicalAmounts(json::Arena& arena, Value value) {
  static constexpr std::string_view kAmounts[] = {
      "averageValue", "currentAverageValue", "currentValue", "targetAverageValue", "targetValue"};
  if (value.is_array()) {
    return json::EditElements(arena, value,
                              [&](Value each) { return WithCanonicalAmounts(arena, each); });
  }
  if (!value.is_object()) return value;
  std::vector<json::Member> members(value.members().begin(), value.members().end());
  for (json::Member& member : members) {
    const bool is_amount =
        std::find(std::begin(kAmounts), std::end(kAmounts), member.name()) != std::end(kAmounts);
    const std::string text = member.value.is_number() ? json::ToString(member.value)
                                                      : std::string(member.value.AsString());
    const auto amount = Quantity::Parse(text);
    if (!is_amount) {
      member.value = WithCanonicalAmounts(arena, member.value);
    } else if (amount.ok()) {
      member.value = json::String(arena, amount->ToString());
    }
  }
  return json::MakeObject(arena, members);
}

// What the annotation says, or null.
Value ReadAnnotation(json::Arena& arena, Value object, std::string_view name) {
  const Value* text = object["metadata"]["annotations"].Find(name);
  if (text == nullptr) return {};
  const auto parsed = json::Parse(arena, text->AsString());
  return parsed.ok() ? WithCanonicalAmounts(arena, *parsed) : Value();
}

void PutAnnotation(json::Arena& arena, Value& object, std::string_view name, Value value) {
  if (value.is_null() || (value.is_array() && value.empty())) return;
  const std::string text = json::ToString(value, {.splice_source = false});
  object =
      json::SetPath(arena, object, {"metadata", "annotations", name}, json::String(arena, text));
}

// In Go's order.
Value Conditions(json::Arena& arena, Value conditions) {
  json::ArrayBuilder out(arena);
  for (const Value condition : conditions.elements()) {
    json::ObjectBuilder one(arena);
    one.Set("type", TextOrEmpty(condition["type"])).Set("status", TextOrEmpty(condition["status"]));
    one.Set("lastTransitionTime", condition["lastTransitionTime"]);
    Copy(one, "reason", condition["reason"]);
    Copy(one, "message", condition["message"]);
    out.Add(one.Build());
  }
  return out.Build();
}

}  // namespace

Value WithoutAutoscalerAnnotations(json::Arena& arena, Value object) {
  Value annotations = object["metadata"]["annotations"];
  const std::size_t before = annotations.size();
  for (const std::string_view name : kOwnAnnotations) {
    if (annotations.Has(name)) annotations = json::Without(arena, annotations, name);
  }
  if (annotations.size() == before) return object;
  return annotations.empty()
             ? json::RemovePath(arena, object, {"metadata", "annotations"})
             : json::SetPath(arena, object, {"metadata", "annotations"}, annotations);
}

Value WithAutoscalerAnnotations(json::Arena& arena, Value object, Value other,
                                AutoscalerPart part) {
  const Value before = object["metadata"]["annotations"];
  Value annotations = before;
  const bool of_spec = part == AutoscalerPart::kSpec;
  for (const std::string_view name :
       {of_spec ? kMetrics : kConditions, of_spec ? kBehavior : kCurrentMetrics}) {
    const Value wanted = other["metadata"]["annotations"][name];
    if (wanted == before[name]) continue;
    annotations = wanted.is_null() ? json::Without(arena, annotations, name)
                                   : json::With(arena, annotations, name, wanted);
  }
  if (annotations.IsSameAs(before)) return object;
  return annotations.empty()
             ? json::RemovePath(arena, object, {"metadata", "annotations"})
             : json::SetPath(arena, object, {"metadata", "annotations"}, annotations);
}

namespace {

Value FromV1(json::Arena& arena, Value object, ConvertSource status_from_v1) {
  const Value before = object;
  object = WithoutAutoscalerAnnotations(arena, object);

  // The metric that v1 has a field for follows those of the annotation.
  json::ArrayBuilder metrics(arena);
  for (const Value metric : ReadAnnotation(arena, before, kMetrics).elements()) {
    metrics.Add(ConvertMetric(arena, metric, &SourceFromV1));
  }
  const Value percentage = before["spec"]["targetCPUUtilizationPercentage"];
  if (!percentage.is_null()) metrics.Add(CpuMetric(arena, percentage));
  if (metrics.size() == 0) metrics.Add(CpuMetric(arena, Value::Int(80)));
  object = json::RemovePath(arena, object, {"spec", "targetCPUUtilizationPercentage"});
  object = json::SetPath(arena, object, {"spec", "metrics"}, metrics.Build());
  const Value behavior = BehaviorFromGo(arena, ReadAnnotation(arena, before, kBehavior));
  if (behavior.is_object()) object = json::SetPath(arena, object, {"spec", "behavior"}, behavior);

  // Go writes currentMetrics always.
  Value current;
  const Value current_percentage = before["status"]["currentCPUUtilizationPercentage"];
  if (!current_percentage.is_null()) current = CpuStatus(arena, current_percentage);
  if (const Value known = ReadAnnotation(arena, before, kCurrentMetrics); known.is_array()) {
    current = ConvertMetrics(arena, known, status_from_v1);
  }
  object = json::RemovePath(arena, object, {"status", "currentCPUUtilizationPercentage"});
  object = json::SetPath(arena, object, {"status", "currentMetrics"}, current);
  if (const Value conditions = ReadAnnotation(arena, before, kConditions); conditions.is_array()) {
    object = json::SetPath(arena, object, {"status", "conditions"}, conditions);
  }
  if (before["status"]["currentReplicas"].AsInt() == 0) {
    object = json::RemovePath(arena, object, {"status", "currentReplicas"});
  }
  return object;
}

Value InV1(json::Arena& arena, Value object, ConvertSource status_to_v1) {
  const Value spec = object["spec"];
  const Value status = object["status"];
  object = WithoutAutoscalerAnnotations(arena, object);

  json::ArrayBuilder others(arena);
  Value percentage;
  for (const Value metric : spec["metrics"].elements()) {
    const Value utilization = metric["resource"]["target"]["averageUtilization"];
    if (IsCpu(metric) && !utilization.is_null()) {
      if (percentage.is_null()) percentage = utilization;
      continue;
    }
    others.Add(ConvertMetric(arena, metric, &SourceToV1));
  }
  Value current_percentage;
  for (const Value metric : status["currentMetrics"].elements()) {
    const Value utilization = metric["resource"]["current"]["averageUtilization"];
    if (IsCpu(metric) && !utilization.is_null()) current_percentage = utilization;
  }
  PutAnnotation(arena, object, kMetrics, others.Build());
  PutAnnotation(arena, object, kBehavior, BehaviorToGo(arena, spec["behavior"]));
  PutAnnotation(arena, object, kConditions, Conditions(arena, status["conditions"]));
  PutAnnotation(arena, object, kCurrentMetrics,
                ConvertMetrics(arena, status["currentMetrics"], status_to_v1));
  for (const std::string_view name : {"metrics", "behavior"}) {
    object = json::RemovePath(arena, object, {"spec", name});
  }
  for (const std::string_view name : {"conditions", "currentMetrics"}) {
    object = json::RemovePath(arena, object, {"status", name});
  }
  if (!percentage.is_null()) {
    object = json::SetPath(arena, object, {"spec", "targetCPUUtilizationPercentage"}, percentage);
  }
  if (!current_percentage.is_null()) {
    object = json::SetPath(arena, object, {"status", "currentCPUUtilizationPercentage"},
                           current_percentage);
  }
  if (!status.Has("currentReplicas")) {
    object = json::SetPath(arena, object, {"status", "currentReplicas"}, Value::Int(0));
  }
  return object;
}

}  // namespace

Value AutoscalerFromV1(json::Arena& arena, Value object) {
  return FromV1(arena, object, &StatusFromV1);
}

Value AutoscalerToV1(json::Arena& arena, Value object) { return InV1(arena, object, &StatusToV1); }

base::Result<Value> AutoscalerThroughInternal(json::Arena& arena, Value object) {
  const bool has_metrics = !object["spec"]["targetCPUUtilizationPercentage"].is_null() ||
                           !ReadAnnotation(arena, object, kMetrics).empty();
  object = InV1(arena, FromV1(arena, object, &SentStatusFromV1), &ExactStatusToV1);
  // The default comes later.
  if (has_metrics) return object;
  return json::RemovePath(arena, object, {"spec", "targetCPUUtilizationPercentage"});
}

}  // namespace portcullis::api
