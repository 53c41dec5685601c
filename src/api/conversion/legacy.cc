// SPDX-License-Identifier: Apache-2.0

// Conversions of workloads and Ingresses in versions that Kubernetes has dropped (docs/legacy.md).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/conversion/conversion_functions.h"
#include "base/strings.h"
#include "json/edit.h"

namespace portcullis::api {
namespace {

using json::Value;

constexpr std::string_view kRollback = "deprecated.deployment.rollback.to";
constexpr std::string_view kTemplateGeneration = "deprecated.daemonset.template.generation";

Value WithAnnotation(json::Arena& arena, Value object, std::string_view key, std::int64_t number) {
  return json::SetPath(arena, object, {"metadata", "annotations", key},
                       json::String(arena, std::to_string(number)));
}

// Takes the number out of the annotation; nothing if there is none. A text that is no number stays.
std::optional<std::int64_t> TakeNumber(json::Arena& arena, Value& object, std::string_view key) {
  const Value annotations = object["metadata"]["annotations"];
  const std::optional<std::int64_t> number = base::ParseInt(annotations[key].AsString());
  if (!number) return std::nullopt;
  object = annotations.size() == 1
               ? json::RemovePath(arena, object, {"metadata", "annotations"})
               : json::RemovePath(arena, object, {"metadata", "annotations", key});
  return number;
}

// A backend of v1 out of one of v1beta1.
Value BackendFromV1beta1(json::Arena& arena, Value backend) {
  const std::string_view name = backend["serviceName"].AsString();
  const Value port = backend["servicePort"];
  json::ObjectBuilder made(arena);
  if (!name.empty() || port.is_string() || port.AsInt() != 0) {
    json::ObjectBuilder service(arena);
    service.Set("name", name);
    if (port.is_string()) {
      service.Set("port", json::MakeObject(arena, {{"name", port}}));
    } else if (port.AsInt() != 0) {
      service.Set("port", json::MakeObject(arena, {{"number", port}}));
    } else {
      service.Set("port", json::MakeObject(arena, {}));
    }
    made.Set("service", service.Build());
  }
  if (backend.Has("resource")) made.Set("resource", backend["resource"]);
  return made.Build();
}

Value BackendToV1beta1(json::Arena& arena, Value backend) {
  const Value service = backend["service"];
  json::ObjectBuilder made(arena);
  if (service.is_object()) {
    if (!service["name"].AsString().empty()) made.Set("serviceName", service["name"]);
    const Value name = service["port"]["name"];
    made.Set("servicePort",
             name.AsString().empty() ? Value::Int(service["port"]["number"].AsInt()) : name);
  } else {
    made.Set("servicePort", Value::Int(0));
  }
  if (backend.Has("resource")) made.Set("resource", backend["resource"]);
  return made.Build();
}

template <typename Convert>
Value EditBackends(json::Arena& arena, Value spec, Convert convert) {
  const Value rules = json::EditElements(arena, spec["rules"], [&](Value rule) {
    const Value paths = json::EditElements(arena, rule["http"]["paths"], [&](Value path) {
      return json::With(arena, path, "backend", convert(arena, path["backend"]));
    });
    return paths.is_null() ? rule : json::SetPath(arena, rule, {"http", "paths"}, paths);
  });
  return rules.is_null() ? spec : json::With(arena, spec, "rules", rules);
}

// A default backend has another name in each version.
template <typename Convert>
Value MoveBackend(json::Arena& arena, Value spec, std::string_view from, std::string_view to,
                  Convert convert) {
  const Value* backend = spec.Find(from);
  if (backend == nullptr) return spec;
  return json::With(arena, json::Without(arena, spec, from), to, convert(arena, *backend));
}

}  // namespace

Value RollbackToAnnotation(json::Arena& arena, Value deployment) {
  const Value* rollback = deployment["spec"].Find("rollbackTo");
  if (rollback == nullptr || rollback->is_null()) {
    if (!deployment["metadata"]["annotations"].Has(kRollback)) return deployment;
    return json::RemovePath(arena, deployment, {"metadata", "annotations", kRollback});
  }
  const std::int64_t revision = (*rollback)["revision"].AsInt();
  return WithAnnotation(arena, json::RemovePath(arena, deployment, {"spec", "rollbackTo"}),
                        kRollback, revision);
}

Value RollbackFromAnnotation(json::Arena& arena, Value deployment) {
  const auto revision = TakeNumber(arena, deployment, kRollback);
  if (!revision) return deployment;
  const Value rollback = *revision == 0
                             ? json::MakeObject(arena, {})
                             : json::MakeObject(arena, {{"revision", Value::Int(*revision)}});
  return json::SetPath(arena, deployment, {"spec", "rollbackTo"}, rollback);
}

Value TemplateGenerationToAnnotation(json::Arena& arena, Value daemon_set) {
  const std::int64_t number = daemon_set["spec"]["templateGeneration"].AsInt();
  return WithAnnotation(arena, json::RemovePath(arena, daemon_set, {"spec", "templateGeneration"}),
                        kTemplateGeneration, number);
}

Value TemplateGenerationFromAnnotation(json::Arena& arena, Value daemon_set) {
  const auto number = TakeNumber(arena, daemon_set, kTemplateGeneration);
  if (!number || *number == 0) return daemon_set;
  return json::SetPath(arena, daemon_set, {"spec", "templateGeneration"}, Value::Int(*number));
}

Value IngressFromV1beta1(json::Arena& arena, Value spec) {
  return EditBackends(arena,
                      MoveBackend(arena, spec, "backend", "defaultBackend", &BackendFromV1beta1),
                      &BackendFromV1beta1);
}

Value IngressToV1beta1(json::Arena& arena, Value spec) {
  return EditBackends(arena,
                      MoveBackend(arena, spec, "defaultBackend", "backend", &BackendToV1beta1),
                      &BackendToV1beta1);
}

}  // namespace portcullis::api
