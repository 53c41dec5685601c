#include "registry/default_strategy.h"

#include "registry/validation/validation.h"

namespace portcullis::registry {

json::Value DefaultStrategy::PrepareForCreate(const Context& ctx, json::Value object) const {
  if (traits_.has_status) {
    // Go writes the empty struct; kinds whose status is left out when empty lose it on encoding.
    if (object.Has("status")) {
      object = json::With(ctx.arena, object, "status", json::MakeObject(ctx.arena, {}));
    }
  }
  if (traits_.counts_generation) {
    object = json::SetPath(ctx.arena, object, {"metadata", "generation"}, json::Value::Int(1));
  }
  return object;
}

json::Value DefaultStrategy::PrepareForUpdate(const Context& ctx, json::Value object,
                                              json::Value old) const {
  if (ctx.subresource == "status") return OnlyStatus(ctx.arena, object, old);
  if (traits_.has_status) object = KeepStatus(ctx.arena, object, old);
  if (traits_.counts_generation) object = CountGeneration(ctx.arena, object, old);
  return object;
}

void DefaultStrategy::Validate(const Context& ctx, json::Value object,
                               api::FieldErrors& errors) const {
  ValidateKind(ctx, object, errors);
}

void DefaultStrategy::ValidateUpdate(const Context& ctx, json::Value object, json::Value old,
                                     api::FieldErrors& errors) const {
  ValidateKindUpdate(ctx, object, old, errors);
}

}  // namespace portcullis::registry
