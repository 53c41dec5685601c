// SPDX-License-Identifier: Apache-2.0

// Namespaces live on in phase Terminating until their finalizers are gone
// (Kubernetes docs: Namespaces; spec.finalizers is changed through the finalize subresource).

#include "registry/default_strategy.h"
#include "registry/kind_table.h"
#include "registry/validation/checks.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kFinalizer = "kubernetes";
constexpr std::string_view kNameLabel = "kubernetes.io/metadata.name";

class Namespaces final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    object = json::With(ctx.arena, object, "status",
                        json::MakeObject(ctx.arena, {json::Member("phase", Text("Active"))}));
    const json::Value finalizers = object["spec"]["finalizers"];
    for (const json::Value& finalizer : finalizers.elements()) {
      if (finalizer.AsString() == kFinalizer) return object;
    }
    return json::SetPath(ctx.arena, object, {"spec", "finalizers"},
                         json::Append(ctx.arena, finalizers, Text(kFinalizer)));
  }

  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    if (ctx.subresource == "status") return OnlyStatus(ctx.arena, object, old);
    if (ctx.subresource == "finalize") return KeepStatus(ctx.arena, object, old);
    object = json::With(ctx.arena, object, "spec", old["spec"]);
    return KeepStatus(ctx.arena, object, old);
  }

  // The name label is the server's: it follows the name whatever a client writes.
  json::Value Canonicalize(const Context& ctx, json::Value object) const override {
    const json::Value name = object["metadata"]["name"];
    if (name.AsString().empty()) return object;
    return json::SetPath(ctx.arena, object, {"metadata", "labels", kNameLabel}, name);
  }

  json::Value PrepareForTermination(const Context& ctx, json::Value object) const override {
    return json::SetPath(ctx.arena, object, {"status", "phase"}, Text("Terminating"));
  }

  bool TerminatesFirst() const override { return true; }

  bool HeldByOther(json::Value object) const override {
    return !object["spec"]["finalizers"].empty();
  }

 private:
  static json::Value Text(std::string_view text) { return json::Value::StringView(text); }
};

void CheckFinalizer(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  for (const std::string& text : api::IsQualifiedName(name)) {
    errors.push_back(api::Invalid(path, name, text));
  }
  const bool standard = name == kFinalizer || name == "orphan" || name == "foregroundDeletion";
  if (standard || name.find('/') != std::string_view::npos) return;
  errors.push_back(api::Invalid(
      path, name, "name is neither a standard finalizer name nor is it fully qualified"));
}

void ValidateNamespace(const Context&, json::Value object, FieldErrors& errors) {
  const FieldPath path("spec", "finalizers");
  for (const json::Value& finalizer : object["spec"]["finalizers"].elements()) {
    CheckFinalizer(finalizer.AsString(), path, errors);
  }
}

void ValidateNamespaceUpdate(const Context& ctx, json::Value object, json::Value,
                             FieldErrors& errors) {
  if (ctx.subresource == "finalize") {
    std::size_t index = 0;
    for (const json::Value& finalizer : object["spec"]["finalizers"].elements()) {
      CheckFinalizer(finalizer.AsString(), FieldPath("spec", "finalizers").Index(index++), errors);
    }
  }
  if (ctx.subresource != "status") return;
  const bool ends = !object["metadata"]["deletionTimestamp"].is_null();
  const std::string_view phase = object["status"]["phase"].AsString();
  if (phase == (ends ? "Terminating" : "Active")) return;
  errors.push_back(
      api::Invalid(api::FieldPath("status", "Phase"), phase,
                   ends ? "may only be 'Terminating' if `deletionTimestamp` is not empty"
                        : "may only be 'Active' if `deletionTimestamp` is empty"));
}

}  // namespace

void AddNamespaceStrategy(KindTable& table) {
  table.Add({.group = "",
             .resource = "namespaces",
             .validate = &ValidateNamespace,
             .validate_update = &ValidateNamespaceUpdate,
             .traits = {.names = NameStyle::kLabel},
             .metadata = {.update = "FU"},
             .make = &Make<Namespaces>});
}

}  // namespace portcullis::registry
