// SPDX-License-Identifier: Apache-2.0

#include "registry/custom_resources/custom_resource_validation.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <set>

#include "api/catalog/catalog.h"
#include "api/patch/go_value.h"
#include "api/schema/validate.h"
#include "base/clock.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "kube_cel/compiler.h"
#include "kube_cel/rule_set.h"
#include "metrics/cel_metrics.h"
#include "registry/custom_resources/embedded_objects.h"
#include "registry/custom_resources/schema_rules.h"
#include "registry/expression_checker.h"

namespace portcullis::registry {
namespace {

using json::Value;
namespace schema = api::schema;

// Errors after which rules cannot be evaluated sensibly.
bool Blocks(const api::FieldError& error) {
  switch (error.type) {
    case api::FieldErrorType::kNotSupported:
    case api::FieldErrorType::kRequired:
    case api::FieldErrorType::kTooLong:
    case api::FieldErrorType::kTooMany:
    case api::FieldErrorType::kTypeInvalid:
      return true;
    default:
      return false;
  }
}

// Mutating admission and patches can change even these.
bool CheckTypeMeta(const api::GroupVersionKind& kind, Value object, api::FieldErrors& errors) {
  const std::size_t before = errors.size();
  const std::string version = kind.group_version().ToString();
  if (object["kind"].AsString() != kind.kind) {
    errors.push_back(api::Invalid(api::FieldPath("kind"), object["kind"].AsString(),
                                  base::StrCat("must be ", kind.kind)));
  }
  if (object["apiVersion"].AsString() != version) {
    errors.push_back(api::Invalid(api::FieldPath("apiVersion"), object["apiVersion"].AsString(),
                                  base::StrCat("must be ", version)));
  }
  return errors.size() == before;
}

std::string WrongType(std::string_view path, Value value, std::string_view expected) {
  return base::StrCat(path, " accessor error: ", api::patch::GoValueText(value), " is of the type ",
                      api::patch::GoTypeName(value), ", expected ", expected);
}

// The value at ".spec.replicas", or none; `error` is Go's text if the way there leads through
// something that is no object.
std::optional<Value> Along(Value object, std::string_view path, std::string& error) {
  if (path.starts_with('.')) path.remove_prefix(1);
  std::string walked;
  Value current = object;
  for (const std::string_view name : base::Split(path, '.')) {
    walked += base::StrCat(".", name);
    if (current.is_null()) return std::nullopt;
    if (!current.is_object()) {
      error = WrongType(walked, current, "map[string]interface{}");
      return std::nullopt;
    }
    const Value* found = current.Find(name);
    if (found == nullptr) return std::nullopt;
    current = *found;
  }
  return current;
}

void CheckReplicas(Value object, const std::string& path, FieldErrors& errors) {
  const FieldPath at{path};
  std::string error;
  const std::optional<Value> value = Along(object, path, error);
  if (value && !value->is_int()) error = WrongType(path, *value, "int64");
  const std::int64_t replicas = value ? value->AsInt() : 0;
  if (!error.empty()) {
    errors.push_back(api::Invalid(at, std::int64_t{0}, error));
  } else if (replicas < 0) {
    errors.push_back(api::Invalid(at, replicas, "should be a non-negative integer"));
  } else if (replicas > std::numeric_limits<std::int32_t>::max()) {
    errors.push_back(api::Invalid(at, replicas, "should be less than or equal to 2147483647"));
  }
}

void CheckScale(Value object, const api::catalog::ScalePaths& scale, bool only_status,
                FieldErrors& errors) {
  if (!only_status) CheckReplicas(object, scale.spec_replicas, errors);
  CheckReplicas(object, scale.status_replicas, errors);
  if (scale.label_selector.empty()) return;
  std::string error;
  const std::optional<Value> selector = Along(object, scale.label_selector, error);
  if (selector && !selector->is_string()) {
    error = WrongType(scale.label_selector, *selector, "string");
  }
  if (!error.empty()) {
    errors.push_back(api::Invalid(FieldPath(scale.label_selector), "", error));
  }
}

void CheckListTypes(Value props, Value object, const Value* old, FieldErrors& errors) {
  FieldErrors found;
  schema::ValidateListTypes(props, object, FieldPath(), found);
  if (found.empty()) return;
  if (old != nullptr) {
    FieldErrors before;
    schema::ValidateListTypes(props, *old, FieldPath(), before);
    if (!before.empty()) return;
  }
  errors.insert(errors.end(), found.begin(), found.end());
}

void CheckStatus(const schema::Constraints& constraints, Value object, const Value* old,
                 FieldErrors& errors) {
  const Value props = constraints.props["properties"]["status"];
  const Value* status = object.Find("status");
  if (!props.is_object() || status == nullptr) return;
  const Value* before = old != nullptr ? old->Find("status") : nullptr;
  schema::ValidateValue({props, constraints.patterns}, *status, FieldPath("status"), errors,
                        before);
}

// Adds the time since `begun`, and begins anew.
void Observe(const metrics::CelMetrics& times, metrics::Histogram& histogram,
             base::SteadyTime& begun) {
  const base::SteadyTime now = times.clock.Steady();
  histogram.Observe(std::chrono::duration<double>(now - begun).count());
  begun = now;
}

void CheckRules(const Context& ctx, const schema::Constraints& constraints, Value object,
                const Value* old, FieldErrors& errors) {
  if (ctx.expressions == nullptr || ctx.expressions->compiler() == nullptr) return;
  const metrics::CelMetrics* const times = ctx.expressions->cel_metrics();
  base::SteadyTime begun = times != nullptr ? times->clock.Steady() : base::SteadyTime{};
  const auto rules = ctx.expressions->compiler()->RulesOf(&constraints, constraints.props);
  if (!rules->root().has_any) return;
  if (times != nullptr && rules->IsNew()) Observe(*times, times->compilation, begun);
  if (std::any_of(errors.begin(), errors.end(), Blocks)) {
    errors.push_back(api::Invalid(FieldPath(), Value(),
                                  "some validation rules were not checked because the object was "
                                  "invalid; correct the existing errors to complete validation"));
    return;
  }
  EvaluateSchemaRules(ctx.arena, *rules, object, old, errors, ctx.warnings);
  if (times != nullptr) Observe(*times, times->evaluation, begun);
}

constexpr std::string_view kKnownFinalizers[] = {"orphan", "foregroundDeletion", "kubernetes"};

}  // namespace

void ValidateCustomResource(const Context& ctx, Value object, const Value* old,
                            FieldErrors& errors) {
  if (ctx.catalog == nullptr) return;
  if (!CheckTypeMeta(ctx.kind, object, errors)) return;
  const auto* resource = ctx.catalog->Find(ctx.resource);
  if (resource == nullptr || !resource->custom || resource->schema == nullptr ||
      resource->schema->constraints == nullptr) {
    return;
  }
  const schema::Constraints& constraints = *resource->schema->constraints;
  const bool only_status = ctx.subresource == "status";
  if (only_status) {
    CheckStatus(constraints, object, old, errors);
  } else {
    schema::ValidateValue(constraints, object, FieldPath(), errors, old);
  }
  if (resource->scale) CheckScale(object, *resource->scale, only_status, errors);
  if (!only_status) CheckEmbeddedObjects(constraints.props, object, FieldPath(), errors);
  CheckListTypes(constraints.props, object, old, errors);
  CheckRules(ctx, constraints, object, old, errors);
}

void CustomResourceWarnings(Value object, Value old, std::vector<std::string>& warnings) {
  std::set<std::string_view> added;
  for (const Value& name : object["metadata"]["finalizers"].elements()) {
    added.insert(name.AsString());
  }
  for (const Value& name : old["metadata"]["finalizers"].elements()) added.erase(name.AsString());
  for (const std::string_view name : added) {
    const std::string head = base::StrCat("metadata.finalizers: ", base::GoQuote(name), ": ");
    for (const std::string& wrong : api::IsQualifiedName(name)) warnings.push_back(head + wrong);
    if (name.find('/') != std::string_view::npos) continue;
    if (std::find(std::begin(kKnownFinalizers), std::end(kKnownFinalizers), name) !=
        std::end(kKnownFinalizers)) {
      continue;
    }
    warnings.push_back(base::StrCat(
        head,
        name.find('.') != std::string_view::npos
            ? "prefer a domain-qualified finalizer name including a path (/) to avoid accidental "
              "conflicts with other finalizer writers"
            : "prefer a domain-qualified finalizer name to avoid accidental conflicts with other "
              "finalizer writers"));
  }
}

}  // namespace portcullis::registry
