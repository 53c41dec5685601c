#include "registry/validation.h"

#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

// Finalizers of built-in kinds are qualified or standard ones.
void CheckFinalizers(const Context& ctx, json::Value object, api::FieldErrors& errors) {
  for (const std::string_view group : {"admissionregistration.k8s.io", "apiextensions.k8s.io",
                                       "apiregistration.k8s.io", "coordination.k8s.io"}) {
    if (ctx.resource.group == group) return;
  }
  std::size_t index = 0;
  for (const json::Value& finalizer : object["metadata"]["finalizers"].elements()) {
    const api::FieldPath at = api::FieldPath("metadata", "finalizers").Index(index++);
    const std::string_view name = finalizer.AsString();
    const bool standard = name == "kubernetes" || name == "orphan" || name == "foregroundDeletion";
    if (standard || name.find('/') != std::string_view::npos) continue;
    errors.push_back(api::Invalid(
        at, name, "name is neither a standard finalizer name nor is it fully qualified"));
  }
}

}  // namespace

void ValidateKind(const Kind* kind, const Context& ctx, json::Value object,
                  api::FieldErrors& errors) {
  CheckFinalizers(ctx, object, errors);
  if (kind == nullptr) return;
  if (kind->validate != nullptr) kind->validate(ctx, object, errors);
  CheckFieldRules(kind->rules, object, nullptr, errors);
}

void ValidateKindUpdate(const Kind* kind, const Context& ctx, json::Value object, json::Value old,
                        api::FieldErrors& errors) {
  CheckFinalizers(ctx, object, errors);
  if (kind == nullptr) return;
  if (kind->validate_update != nullptr) {
    kind->validate_update(ctx, object, old, errors);
  } else if (kind->validate != nullptr && ctx.subresource.empty()) {
    kind->validate(ctx, object, errors);
  }
  if (ctx.subresource.empty()) CheckFieldRules(kind->rules, object, &old, errors);
}

}  // namespace portcullis::registry
