// SPDX-License-Identifier: Apache-2.0

// Conversions of workloads and Ingresses in versions that Kubernetes has dropped (docs/legacy.md).

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/conversion/conversion_functions.h"
#include "api/selector/label_selector.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "golang/strconv.h"
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

Value WithoutAnnotation(json::Arena& arena, Value object, std::string_view key) {
  const bool only = object["metadata"]["annotations"].size() == 1;
  return only ? json::RemovePath(arena, object, {"metadata", "annotations"})
              : json::RemovePath(arena, object, {"metadata", "annotations", key});
}

// The revision in the annotation; none if that is absent or empty.
base::Result<std::optional<std::int64_t>> RollbackOf(Value deployment) {
  const std::string_view text = deployment["metadata"]["annotations"][kRollback].AsString();
  if (text.empty()) return std::optional<std::int64_t>();
  const auto revision = golang::ParseInt(text);
  if (!revision.ok()) {
    return base::BadRequest(base::StrCat("failed to parse annotation[", kRollback, "]=", text,
                                         " as int64: ", revision.status().message()));
  }
  return std::optional<std::int64_t>(*revision);
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
    return WithoutAnnotation(arena, deployment, kRollback);
  }
  const std::int64_t revision = (*rollback)["revision"].AsInt();
  return WithAnnotation(arena, json::RemovePath(arena, deployment, {"spec", "rollbackTo"}),
                        kRollback, revision);
}

base::Result<Value> RollbackFromAnnotation(json::Arena& arena, Value deployment) {
  const auto revision = TRY(RollbackOf(deployment));
  if (!deployment["metadata"]["annotations"].Has(kRollback)) return deployment;
  deployment = WithoutAnnotation(arena, deployment, kRollback);
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

base::Result<Value> RollbackThroughField(json::Arena& arena, Value deployment) {
  if (!deployment["metadata"]["annotations"].Has(kRollback)) return deployment;
  const auto revision = TRY(RollbackOf(deployment));
  if (!revision) return WithoutAnnotation(arena, deployment, kRollback);
  return WithAnnotation(arena, deployment, kRollback, *revision);
}

base::Result<Value> TemplateGenerationFromAnnotation(json::Arena& arena, Value daemon_set) {
  const Value* text = daemon_set["metadata"]["annotations"].Find(kTemplateGeneration);
  if (text == nullptr) return daemon_set;
  const std::int64_t number = TRY(golang::ParseInt(text->AsString()));
  daemon_set = WithoutAnnotation(arena, daemon_set, kTemplateGeneration);
  if (number == 0) return daemon_set;
  return json::SetPath(arena, daemon_set, {"spec", "templateGeneration"}, Value::Int(number));
}

base::Result<Value> TemplateGenerationThroughField(json::Arena& arena, Value daemon_set) {
  const Value* text = daemon_set["metadata"]["annotations"].Find(kTemplateGeneration);
  if (text == nullptr) return daemon_set;
  return WithAnnotation(arena, daemon_set, kTemplateGeneration,
                        TRY(golang::ParseInt(text->AsString())));
}

Value ScaleStatusFromLegacy(json::Arena& arena, Value status) {
  json::ObjectBuilder made(arena);
  made.Set("replicas", status["replicas"].AsInt());
  std::string selector(status["targetSelector"].AsString());
  if (selector.empty()) selector = LabelSelector::FromSet(status["selector"]).ToString();
  if (!selector.empty()) made.Set("selector", selector);
  return made.Build();
}

base::Result<Value> ScaleStatusToLegacy(json::Arena& arena, Value status) {
  const std::string_view text = status["selector"].AsString();
  json::ObjectBuilder made(arena);
  made.Set("replicas", status["replicas"].AsInt());
  if (text.empty()) return made.Build();
  const auto selector = LabelSelector::Parse(text);
  if (!selector.ok()) {
    return base::BadRequest(
        base::StrCat("failed to parse selector: couldn't parse the selector string ",
                     base::GoQuote(text), ": ", selector.status().message()));
  }
  // A map says it all if each label has one value.
  const auto& requirements = selector->requirements();
  const bool is_map = std::all_of(requirements.begin(), requirements.end(), [](const auto& each) {
    return each.op == LabelSelector::Operator::kEquals ||
           each.op == LabelSelector::Operator::kDoubleEquals;
  });
  if (is_map) {
    json::ObjectBuilder labels(arena);
    for (const auto& each : requirements) labels.Set(arena.Copy(each.key), each.values.front());
    made.Set("selector", labels.Build());
  }
  made.Set("targetSelector", text);
  return made.Build();
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
