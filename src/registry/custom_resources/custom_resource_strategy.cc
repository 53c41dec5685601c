// SPDX-License-Identifier: Apache-2.0

// Custom resources (apiextensions-apiserver, pkg/registry/customresource): what their definition
// says about status and scale, and nothing of built-in kinds.

#include "registry/custom_resources/custom_resource_validation.h"
#include "registry/kind_table.h"

namespace portcullis::registry {
namespace {

class CustomResources final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    if (traits().has_status && object.Has("status"))
      object = json::Without(ctx.arena, object, "status");
    return json::SetPath(ctx.arena, object, {"metadata", "generation"}, json::Value::Int(1));
  }

  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    if (ctx.subresource == "status") return StatusOf(ctx.arena, object, old);
    if (traits().has_status) object = KeepStatus(ctx.arena, object, old);
    // Whatever is no metadata counts, a status without endpoint of its own too.
    const bool same =
        json::Without(ctx.arena, object, "metadata") == json::Without(ctx.arena, old, "metadata");
    if (same) return object;
    return json::SetPath(ctx.arena, object, {"metadata", "generation"},
                         json::Value::Int(old["metadata"]["generation"].AsInt() + 1));
  }

  std::vector<std::string_view> ResetFields(const Context& ctx) const override {
    if (ctx.subresource == "status") return {"spec", "metadata"};
    return DefaultStrategy::ResetFields(ctx);
  }

  void Validate(const Context& ctx, json::Value object, api::FieldErrors& errors) const override {
    ValidateCustomResource(ctx, object, nullptr, errors);
  }
  void ValidateUpdate(const Context& ctx, json::Value object, json::Value old,
                      api::FieldErrors& errors) const override {
    ValidateCustomResource(ctx, object, &old, errors);
  }
  void Warnings(const Context&, json::Value object,
                std::vector<std::string>& warnings) const override {
    CustomResourceWarnings(object, {}, warnings);
  }
  void UpdateWarnings(const Context& ctx, json::Value object, json::Value old,
                      std::vector<std::string>& warnings) const override {
    if (ctx.subresource != "status") CustomResourceWarnings(object, old, warnings);
  }

 private:
  // The old object with the new status; who did it stands in managedFields.
  static json::Value StatusOf(json::Arena& arena, json::Value object, json::Value old) {
    json::Value result = KeepStatus(arena, old, object);
    const json::Value managers = object["metadata"]["managedFields"];
    const json::Value version = object["metadata"]["resourceVersion"];
    result = managers.is_null()
                 ? json::RemovePath(arena, result, {"metadata", "managedFields"})
                 : json::SetPath(arena, result, {"metadata", "managedFields"}, managers);
    return json::SetPath(arena, result, {"metadata", "resourceVersion"}, version);
  }
};

}  // namespace

void AddCustomResourceStrategy(KindTable& table) {
  table.AddCustomResources({.traits = {.needs_version = true},
                            .metadata = {.update = "u", .subresource = "u"},
                            .make = &Make<CustomResources>});
}

}  // namespace portcullis::registry
