// SPDX-License-Identifier: Apache-2.0

// HorizontalPodAutoscalers: what they look at, and the figures last seen.

#include "base/strings.h"
#include "server/table/cells.h"

namespace portcullis::server::table {
namespace {

constexpr std::string_view kUnknown = "<unknown>";

std::string Percent(json::Value number, std::string_view otherwise) {
  if (number.is_null()) return std::string(otherwise);
  return base::StrCat(std::to_string(number.AsInt()), "%");
}

std::string QuantityText(json::Value quantity) {
  return quantity.is_number() ? std::to_string(quantity.AsInt()) : std::string(quantity.AsString());
}

// Metrics of cpu and memory, of pods or of one container.
std::string ResourceTarget(json::Value metric, json::Value current) {
  const json::Value target = metric["target"];
  const std::string name = base::StrCat(metric["name"].AsString(), ": ");
  if (!target["averageValue"].is_null()) {
    const json::Value seen = current["averageValue"];
    return base::StrCat(name, current.is_null() ? kUnknown : seen.AsString("0"), "/",
                        QuantityText(target["averageValue"]));
  }
  return base::StrCat(name, Percent(current["averageUtilization"], kUnknown), "/",
                      Percent(target["averageUtilization"], "<auto>"));
}

// Metrics of an object or from outside: an average over the pods, or a value.
std::string ValueTarget(json::Value metric, json::Value current) {
  const json::Value average = metric["target"]["averageValue"];
  if (!average.is_null()) {
    return base::StrCat(current["averageValue"].AsString(kUnknown), "/", QuantityText(average),
                        " (avg)");
  }
  return base::StrCat(current.is_null() ? kUnknown : current["value"].AsString("0"), "/",
                      QuantityText(metric["target"]["value"]));
}

std::string MetricText(json::Value metric, json::Value seen) {
  const std::string_view type = metric["type"].AsString();
  if (type == "Resource") return ResourceTarget(metric["resource"], seen["resource"]["current"]);
  if (type == "ContainerResource") {
    return ResourceTarget(metric["containerResource"], seen["containerResource"]["current"]);
  }
  if (type == "Pods") {
    const json::Value current = seen["pods"]["current"];
    return base::StrCat(current.is_null() ? kUnknown : current["averageValue"].AsString("0"), "/",
                        QuantityText(metric["pods"]["target"]["averageValue"]));
  }
  if (type == "Object") return ValueTarget(metric["object"], seen["object"]["current"]);
  if (type == "External") return ValueTarget(metric["external"], seen["external"]["current"]);
  return "<unknown type>";
}

std::string MetricTargets(json::Value object) {
  const json::Value seen = object["status"]["currentMetrics"];
  ShortList targets(2, ", ");
  std::size_t index = 0;
  for (const json::Value& metric : object["spec"]["metrics"].elements()) {
    targets.Add(MetricText(metric, seen[index++]));
  }
  // autoscaling/v1 has this one member instead of the list.
  const json::Value percentage = object["spec"]["targetCPUUtilizationPercentage"];
  if (index == 0 && !percentage.is_null()) {
    targets.Add(base::StrCat(
        "cpu: ", Percent(object["status"]["currentCPUUtilizationPercentage"], kUnknown), "/",
        Percent(percentage, "<auto>")));
  }
  const std::string text = targets.ToString();
  return text.empty() ? "<none>" : text;
}

}  // namespace

void PodAutoscaler(CellWriter& writer, json::Value object) {
  const json::Value spec = object["spec"];
  const json::Value ref = spec["scaleTargetRef"];
  writer.Name(object)
      .Text(base::StrCat(ref["kind"].AsString(), "/", ref["name"].AsString()))
      .Text(MetricTargets(object))
      .Text(spec["minReplicas"].is_null() ? "<unset>" : std::to_string(spec["minReplicas"].AsInt()))
      .Int(spec["maxReplicas"].AsInt())
      .Int(object["status"]["currentReplicas"].AsInt())
      .Age(object);
}

}  // namespace portcullis::server::table
