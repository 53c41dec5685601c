// autoscaling/v1 knows one metric, the average CPU utilisation. Everything else an autoscaler says
// in v2 travels in annotations of the v1 object, with metrics in the older shape of MetricSpec.
#include <string>

#include "api/conversion/conversion_functions.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::api {
namespace {

using json::Value;

constexpr std::string_view kMetrics = "autoscaling.alpha.kubernetes.io/metrics";
constexpr std::string_view kBehavior = "autoscaling.alpha.kubernetes.io/behavior";
constexpr std::string_view kConditions = "autoscaling.alpha.kubernetes.io/conditions";
constexpr std::string_view kCurrentMetrics = "autoscaling.alpha.kubernetes.io/current-metrics";

void Copy(json::ObjectBuilder& to, std::string_view name, Value value) {
  if (!value.is_null()) to.Set(name, value);
}

Value Target(json::Arena& arena, Value value, Value average_value, Value utilization) {
  json::ObjectBuilder target(arena);
  if (!utilization.is_null()) {
    target.Set("type", "Utilization").Set("averageUtilization", utilization);
  } else if (!average_value.is_null()) {
    target.Set("type", "AverageValue").Set("averageValue", average_value);
  } else {
    target.Set("type", "Value");
    Copy(target, "value", value);
  }
  return target.Build();
}

// {"name", "selector"} of a metric identified by metricName.
Value Identifier(json::Arena& arena, Value name, Value selector) {
  json::ObjectBuilder metric(arena);
  metric.Set("name", name);
  Copy(metric, "selector", selector);
  return metric.Build();
}

Value SourceFromV1(json::Arena& arena, std::string_view kind, Value source) {
  json::ObjectBuilder out(arena);
  if (kind == "object") {
    out.Set("describedObject", source["target"]);
    out.Set("target", Target(arena, source["targetValue"], source["averageValue"], {}));
    out.Set("metric", Identifier(arena, source["metricName"], source["selector"]));
  } else if (kind == "pods") {
    out.Set("metric", Identifier(arena, source["metricName"], source["selector"]));
    out.Set("target", Target(arena, {}, source["targetAverageValue"], {}));
  } else if (kind == "external") {
    out.Set("metric", Identifier(arena, source["metricName"], source["metricSelector"]));
    out.Set("target", Target(arena, source["targetValue"], source["targetAverageValue"], {}));
  } else {
    out.Set("name", source["name"]);
    out.Set("target",
            Target(arena, {}, source["targetAverageValue"], source["targetAverageUtilization"]));
    Copy(out, "container", source["container"]);
  }
  return out.Build();
}

Value SourceToV1(json::Arena& arena, std::string_view kind, Value source) {
  const Value target = source["target"];
  const Value metric = source["metric"];
  json::ObjectBuilder out(arena);
  if (kind == "object") {
    out.Set("target", source["describedObject"]).Set("metricName", metric["name"]);
    Value value = target["value"];
    if (value.is_null()) value = Value::StringView("0");
    out.Set("targetValue", value);
    Copy(out, "selector", metric["selector"]);
    Copy(out, "averageValue", target["averageValue"]);
  } else if (kind == "pods") {
    out.Set("metricName", metric["name"]).Set("targetAverageValue", target["averageValue"]);
    Copy(out, "selector", metric["selector"]);
  } else if (kind == "external") {
    out.Set("metricName", metric["name"]);
    Copy(out, "metricSelector", metric["selector"]);
    Copy(out, "targetValue", target["value"]);
    Copy(out, "targetAverageValue", target["averageValue"]);
  } else {
    out.Set("name", source["name"]);
    Copy(out, "targetAverageUtilization", target["averageUtilization"]);
    Copy(out, "targetAverageValue", target["averageValue"]);
    Copy(out, "container", source["container"]);
  }
  return out.Build();
}

using ConvertSource = Value (*)(json::Arena&, std::string_view, Value);

Value ConvertMetric(json::Arena& arena, Value metric, ConvertSource convert) {
  json::ObjectBuilder out(arena);
  out.Set("type", metric["type"]);
  for (const std::string_view kind :
       {"object", "pods", "resource", "containerResource", "external"}) {
    if (metric[kind].is_object()) out.Set(kind, convert(arena, kind, metric[kind]));
  }
  return out.Build();
}

bool IsCpuUtilization(Value metric) {
  return metric["type"].AsString() == "Resource" &&
         metric["resource"]["name"].AsString() == "cpu" &&
         !metric["resource"]["target"]["averageUtilization"].is_null();
}

Value CpuMetric(json::Arena& arena, Value percentage) {
  json::ObjectBuilder resource(arena);
  resource.Set("name", "cpu").Set("target", Target(arena, {}, {}, percentage));
  json::ObjectBuilder metric(arena);
  metric.Set("type", "Resource").Set("resource", resource.Build());
  return metric.Build();
}

// Takes the annotation out of the object and returns what it says, or null.
Value TakeAnnotation(json::Arena& arena, Value& object, std::string_view name) {
  const Value annotations = object["metadata"]["annotations"];
  const Value* text = annotations.Find(name);
  if (text == nullptr) return {};
  const auto parsed = json::Parse(arena, text->AsString());
  const Value rest = json::Without(arena, annotations, name);
  object = rest.empty() ? json::RemovePath(arena, object, {"metadata", "annotations"})
                        : json::SetPath(arena, object, {"metadata", "annotations"}, rest);
  return parsed.ok() ? *parsed : Value();
}

void PutAnnotation(json::Arena& arena, Value& object, std::string_view name, Value value) {
  if (value.is_null() || (value.is_array() && value.empty())) return;
  object = json::SetPath(arena, object, {"metadata", "annotations", name},
                         json::String(arena, json::ToString(value)));
}

}  // namespace

Value AutoscalerFromV1(json::Arena& arena, Value object) {
  json::ArrayBuilder metrics(arena);
  const Value percentage = object["spec"]["targetCPUUtilizationPercentage"];
  if (!percentage.is_null()) metrics.Add(CpuMetric(arena, percentage));
  const Value others = TakeAnnotation(arena, object, kMetrics);
  for (const Value& metric : others.elements()) {
    metrics.Add(ConvertMetric(arena, metric, &SourceFromV1));
  }
  if (metrics.size() == 0) metrics.Add(CpuMetric(arena, Value::Int(80)));
  object = json::RemovePath(arena, object, {"spec", "targetCPUUtilizationPercentage"});
  object = json::SetPath(arena, object, {"spec", "metrics"}, metrics.Build());
  const Value behavior = TakeAnnotation(arena, object, kBehavior);
  if (behavior.is_object()) object = json::SetPath(arena, object, {"spec", "behavior"}, behavior);
  object = json::RemovePath(arena, object, {"status", "currentCPUUtilizationPercentage"});
  const Value current = TakeAnnotation(arena, object, kCurrentMetrics);
  const Value conditions = TakeAnnotation(arena, object, kConditions);
  object = json::SetPath(arena, object, {"status", "currentMetrics"}, current);
  if (conditions.is_array()) {
    object = json::SetPath(arena, object, {"status", "conditions"}, conditions);
  }
  // Go writes currentMetrics always.
  return object;
}

Value AutoscalerToV1(json::Arena& arena, Value object) {
  json::ArrayBuilder others(arena);
  Value percentage;
  for (const Value& metric : object["spec"]["metrics"].elements()) {
    if (IsCpuUtilization(metric) && percentage.is_null()) {
      percentage = metric["resource"]["target"]["averageUtilization"];
    } else {
      others.Add(ConvertMetric(arena, metric, &SourceToV1));
    }
  }
  PutAnnotation(arena, object, kMetrics, others.Build());
  PutAnnotation(arena, object, kBehavior, object["spec"]["behavior"]);
  PutAnnotation(arena, object, kConditions, object["status"]["conditions"]);
  PutAnnotation(arena, object, kCurrentMetrics, object["status"]["currentMetrics"]);
  object = json::RemovePath(arena, object, {"spec", "metrics"});
  object = json::RemovePath(arena, object, {"spec", "behavior"});
  object = json::RemovePath(arena, object, {"status", "conditions"});
  object = json::RemovePath(arena, object, {"status", "currentMetrics"});
  if (!percentage.is_null()) {
    object = json::SetPath(arena, object, {"spec", "targetCPUUtilizationPercentage"}, percentage);
  }
  return object;
}

}  // namespace portcullis::api
