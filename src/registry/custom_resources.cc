// Custom resources (apiextensions-apiserver, pkg/registry/customresource): what their definition
// says about status and scale, and nothing of built-in kinds.

#include "registry/custom_resources.h"

#include "registry/default_strategy.h"
#include "registry/validation/custom_resource_validation.h"

namespace portcullis::registry {
namespace {

class CustomResources final : public DefaultStrategy {
 public:
  explicit CustomResources(bool has_status)
      : DefaultStrategy({.has_status = has_status, .counts_generation = true}),
        has_status_(has_status) {}

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    if (has_status_ && object.Has("status")) object = json::Without(ctx.arena, object, "status");
    return json::SetPath(ctx.arena, object, {"metadata", "generation"}, json::Value::Int(1));
  }

  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    if (ctx.subresource == "status") return StatusOf(ctx.arena, object, old);
    if (has_status_) object = KeepStatus(ctx.arena, object, old);
    // Whatever is no metadata counts, a status without endpoint of its own too.
    const bool same =
        json::Without(ctx.arena, object, "metadata") == json::Without(ctx.arena, old, "metadata");
    if (same) return object;
    return json::SetPath(ctx.arena, object, {"metadata", "generation"},
                         json::Value::Int(old["metadata"]["generation"].AsInt() + 1));
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

  bool AllowUnconditionalUpdate() const override { return false; }

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

  const bool has_status_;
};

}  // namespace

std::unique_ptr<Strategy> MakeCustomResources(bool has_status) {
  return std::make_unique<CustomResources>(has_status);
}

}  // namespace portcullis::registry
