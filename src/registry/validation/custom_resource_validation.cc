#include "registry/validation/custom_resource_validation.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "api/catalog/catalog.h"
#include "api/patch/go_value.h"
#include "api/schema/validate.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "kube_cel/compiler.h"
#include "kube_cel/rule_set.h"
#include "registry/expression_checker.h"
#include "registry/validation/schema_rules.h"

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

// Resources inside of others: x-kubernetes-embedded-resource.
void CheckEmbedded(const schema::Schema* node, Value value, const FieldPath& path,
                   FieldErrors& errors);

void CheckEmbeddedMeta(Value value, const FieldPath& path, FieldErrors& errors) {
  for (const std::string_view name : {"apiVersion", "kind"}) {
    const Value* given = value.Find(name);
    const FieldPath at = path.Child(name);
    if (given == nullptr) {
      errors.push_back(api::Required(at, "must not be empty"));
    } else if (!given->is_string()) {
      errors.push_back(api::Invalid(at, *given, "must be a string"));
    } else if (given->AsString().empty()) {
      errors.push_back(api::Invalid(at, "", "must not be empty"));
    } else if (name == "apiVersion") {
      const auto version = api::ParseGroupVersion(given->AsString());
      if (!version.ok()) {
        errors.push_back(api::Invalid(at, *given, version.status().message()));
      }
    } else if (const auto wrong = api::IsDns1035Label(base::ToLower(given->AsString()));
               !wrong.empty()) {
      errors.push_back(
          api::Invalid(at, *given,
                       base::StrCat("may have mixed case, but should otherwise match: ",
                                    base::Join(wrong, ","))));
    }
  }
  const FieldPath metadata = path.Child("metadata");
  CheckLabels(value["metadata"]["labels"], metadata.Child("labels"), errors);
  CheckAnnotations(value["metadata"]["annotations"], metadata.Child("annotations"), errors);
}

void CheckEmbedded(const schema::Schema* node, Value value, const FieldPath& path,
                   FieldErrors& errors) {
  if (node == nullptr || (!value.is_object() && !value.is_array())) return;
  if (value.is_array()) {
    std::size_t index = 0;
    for (const Value& element : value.elements()) {
      CheckEmbedded(node->element, element, path.Index(index++), errors);
    }
    return;
  }
  if (node->embedded_resource) CheckEmbeddedMeta(value, path, errors);
  for (const json::Member& member : value.members()) {
    if (const schema::Field* field = node->FindField(member.name(), member.hash)) {
      CheckEmbedded(field->schema, member.value, path.Child(member.name()), errors);
    } else if (node->kind == schema::Kind::kMap) {
      CheckEmbedded(node->element, member.value, path.Key(member.name()), errors);
    }
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

void CheckRules(const Context& ctx, const schema::Constraints& constraints, Value object,
                const Value* old, FieldErrors& errors) {
  if (ctx.expressions == nullptr || ctx.expressions->compiler() == nullptr) return;
  const auto rules = ctx.expressions->compiler()->RulesOf(&constraints, constraints.props);
  if (!rules->root().has_any) return;
  if (std::any_of(errors.begin(), errors.end(), Blocks)) {
    errors.push_back(api::Invalid(FieldPath(), Value(),
                                  "some validation rules were not checked because the object was "
                                  "invalid; correct the existing errors to complete validation"));
    return;
  }
  EvaluateSchemaRules(ctx.arena, *rules, object, old, errors);
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
  if (!only_status) {
    for (const json::Member& member : object.members()) {
      const schema::Field* field = resource->schema->FindField(member.name(), member.hash);
      if (field == nullptr || member.name() == "metadata") continue;
      CheckEmbedded(field->schema, member.value, FieldPath(member.name()), errors);
    }
  }
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
