// SPDX-License-Identifier: Apache-2.0

#include "api/conversion/conversion_functions.h"

#include <array>

#include "base/strings.h"
#include "json/edit.h"

namespace portcullis::api {
namespace {

using json::Value;

template <typename Edit>
Value EditElements(json::Arena& arena, Value object, std::string_view list, Edit edit) {
  const Value elements = json::EditElements(arena, object[list], edit);
  return elements.IsSameAs(object[list]) ? object : json::With(arena, object, list, elements);
}

// Whether Go holds the field to be set: not the zero of its type.
bool IsSet(Value value) {
  if (value.is_string()) return !value.AsString().empty();
  return value.is_int() ? value.AsInt() != 0 : !value.is_null();
}

// v1beta1 keeps the exact request's fields in the request itself.
Value DeviceRequestsFromV1beta1(json::Arena& arena, Value devices) {
  return EditElements(arena, devices, "requests", [&](Value request) {
    if (request.Has("exactly")) return request;
    json::ObjectBuilder outer(arena);
    json::ObjectBuilder exactly(arena);
    bool any_set = false;
    for (const json::Member& member : request.members()) {
      const bool is_outer = member.name() == "name" || member.name() == "firstAvailable";
      (is_outer ? outer : exactly).Set(member.name(), member.value);
      any_set = any_set || (!is_outer && IsSet(member.value));
    }
    if (any_set) outer.Set("exactly", exactly.Build());
    return outer.Build();
  });
}

// An empty list is set, too, and makes a request an exact one; written it is only there if nothing else is set.
Value DeviceRequestsThroughV1(json::Arena& arena, Value devices) {
  return EditElements(arena, devices, "requests", [&](Value request) {
    json::ObjectBuilder written(arena);
    bool any_set = false;
    for (const json::Member& member : request.members()) {
      if (member.value.is_array() && member.value.empty()) continue;
      written.Set(member.name(), member.value);
      const bool is_outer = member.name() == "name" || member.name() == "firstAvailable";
      any_set = any_set || (!is_outer && IsSet(member.value));
    }
    return any_set && written.size() < request.size() ? written.Build() : request;
  });
}

Value DeviceRequestsToV1beta1(json::Arena& arena, Value devices) {
  return EditElements(arena, devices, "requests", [&](Value request) {
    if (!request["exactly"].is_object()) {
      // deviceClassName has no omitempty in v1beta1's Go type.
      return request.Has("deviceClassName")
                 ? request
                 : json::With(arena, request, "deviceClassName", Value::StringView(""));
    }
    json::ObjectBuilder flat(arena, json::Without(arena, request, "exactly"));
    for (const json::Member& member : request["exactly"].members()) {
      flat.Set(member.name(), member.value);
    }
    return flat.Build();
  });
}

// v1beta1 keeps everything of a device but its name below `basic`.
Value DevicesFromV1beta1(json::Arena& arena, Value spec) {
  return EditElements(arena, spec, "devices", [&](Value device) {
    if (!device["basic"].is_object()) return device;
    json::ObjectBuilder flat(arena, json::Without(arena, device, "basic"));
    for (const json::Member& member : device["basic"].members()) {
      flat.Set(member.name(), member.value);
    }
    return flat.Build();
  });
}

Value DevicesToV1beta1(json::Arena& arena, Value spec) {
  return EditElements(arena, spec, "devices", [&](Value device) {
    json::ObjectBuilder basic(arena, json::Without(arena, device, "name"));
    json::ObjectBuilder outer(arena);
    outer.Set("name", device["name"]).Set("basic", basic.Build());
    return outer.Build();
  });
}

// Every device has a `basic` once Kubernetes has converted it.
Value DevicesThroughV1(json::Arena& arena, Value spec) {
  return DevicesToV1beta1(arena, DevicesFromV1beta1(arena, spec));
}

// Only the core group writes these of an event even if they are empty.
constexpr std::string_view kReporter[][2] = {{"reportingComponent", "reportingController"},
                                             {"reportingInstance", "reportingInstance"}};

Value EventFromCore(json::Arena& arena, Value event) {
  for (const auto& [core, name] : kReporter) {
    const Value* value = event.Find(name);
    if (value != nullptr && value->AsString().empty()) event = json::Without(arena, event, name);
  }
  // And only the other group how often it was seen, if that is never.
  const Value series = event["series"];
  if (!series.is_object() || series.Has("count")) return event;
  return json::With(arena, event, "series", json::With(arena, series, "count", Value::Int(0)));
}

Value EventToCore(json::Arena& arena, Value event) {
  for (const auto& [core, name] : kReporter) {
    if (!event.Has(core)) event = json::With(arena, event, core, Value::StringView(""));
  }
  const Value series = event["series"];
  if (!series.is_object() || series["count"].AsInt() != 0) return event;
  return json::With(arena, event, "series", json::Without(arena, series, "count"));
}

// What kubelets before 1.8 took for the init containers of a pod, in its metadata and in that of its template.
constexpr std::string_view kInitContainerAnnotations[] = {
    "pod.alpha.kubernetes.io/init-container-statuses", "pod.alpha.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses", "pod.beta.kubernetes.io/init-containers"};

Value WithoutInitContainerAnnotations(json::Arena& arena, Value metadata) {
  Value annotations = metadata["annotations"];
  if (annotations.empty()) return metadata;
  for (const std::string_view name : kInitContainerAnnotations) {
    annotations = json::Without(arena, annotations, name);
  }
  if (annotations.empty()) return json::Without(arena, metadata, "annotations");
  return annotations.IsSameAs(metadata["annotations"])
             ? metadata
             : json::With(arena, metadata, "annotations", annotations);
}

Value PositiveGracePeriod(json::Arena& arena, Value spec) {
  constexpr std::string_view kField = "terminationGracePeriodSeconds";
  return spec[kField].AsInt() < 0 ? json::With(arena, spec, kField, Value::Int(1)) : spec;
}

// A function that cannot fail.
template <Value (*function)(json::Arena&, Value)>
base::Result<Value> Sure(json::Arena& arena, Value value) {
  return function(arena, value);
}

struct Entry {
  std::string_view name;
  ConversionFunction function;
};
constexpr std::array<Entry, 33> kFunctions = {{
    {"autoscalerFromV1", &Sure<AutoscalerFromV1>},
    {"autoscalerToV1", &Sure<AutoscalerToV1>},
    {"autoscalerThroughInternal", &AutoscalerThroughInternal},
    {"definitionFromV1beta1", &Sure<DefinitionFromV1beta1>},
    {"deviceRequestsFromV1beta1", &Sure<DeviceRequestsFromV1beta1>},
    {"deviceRequestsThroughV1", &Sure<DeviceRequestsThroughV1>},
    {"deviceRequestsToV1beta1", &Sure<DeviceRequestsToV1beta1>},
    {"devicesFromV1beta1", &Sure<DevicesFromV1beta1>},
    {"devicesThroughV1", &Sure<DevicesThroughV1>},
    {"devicesToV1beta1", &Sure<DevicesToV1beta1>},
    {"disruptionSelectorFromV1beta1", &Sure<DisruptionSelectorFromV1beta1>},
    {"disruptionSelectorToV1beta1", &Sure<DisruptionSelectorToV1beta1>},
    {"endpointsFromV1beta1", &Sure<EndpointsFromV1beta1>},
    {"eventFromCore", &Sure<EventFromCore>},
    {"eventToCore", &Sure<EventToCore>},
    {"ingressFromV1beta1", &Sure<IngressFromV1beta1>},
    {"ingressToV1beta1", &Sure<IngressToV1beta1>},
    {"positiveGracePeriod", &Sure<PositiveGracePeriod>},
    {"priorityLevelFromV1beta2", &Sure<PriorityLevelFromV1beta2>},
    {"priorityLevelFromV1beta3", &Sure<PriorityLevelFromV1beta3>},
    {"rollbackFromAnnotation", &RollbackFromAnnotation},
    {"rollbackThroughField", &RollbackThroughField},
    {"rollbackToAnnotation", &Sure<RollbackToAnnotation>},
    {"runtimeClassFromV1alpha1", &Sure<RuntimeClassFromV1alpha1>},
    {"scaleStatusFromLegacy", &Sure<ScaleStatusFromLegacy>},
    {"scaleStatusToLegacy", &ScaleStatusToLegacy},
    {"subjectsFromV1alpha1", &Sure<SubjectsFromV1alpha1>},
    {"templateGenerationFromAnnotation", &TemplateGenerationFromAnnotation},
    {"templateGenerationThroughField", &TemplateGenerationThroughField},
    {"templateGenerationToAnnotation", &Sure<TemplateGenerationToAnnotation>},
    {"withoutAutoscalerAnnotations", &Sure<WithoutAutoscalerAnnotations>},
    {"withoutEmptyWebhook", &Sure<WithoutEmptyWebhook>},
    {"withoutInitContainerAnnotations", &Sure<WithoutInitContainerAnnotations>},
}};

}  // namespace

ConversionFunction FindConversionFunction(std::string_view name) {
  for (const Entry& entry : kFunctions) {
    if (entry.name == name) return entry.function;
  }
  return nullptr;
}

}  // namespace portcullis::api
