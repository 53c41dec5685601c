#include "registry/default_strategy.h"

#include "api/selector/label_selector.h"
#include "registry/kind_table.h"
#include "registry/validation.h"

namespace portcullis::registry {

DefaultStrategy::DefaultStrategy(const Kind& kind) : traits_(kind.traits), kind_(&kind) {}

json::Value DefaultStrategy::WithoutDisabled(const Context& ctx, json::Value object,
                                             json::Value old) const {
  if (kind_ == nullptr) return object;
  if (!kind_->pod_spec.empty()) {
    object = WithoutDisabledFields(ctx, DisabledFieldsOfPods(), kind_->pod_spec, object, old);
  }
  return WithoutDisabledFields(ctx, kind_->disabled, {}, object, old);
}

json::Value DefaultStrategy::PrepareForCreate(const Context& ctx, json::Value object) const {
  object = WithoutDisabled(ctx, object, {});
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

json::Value DefaultStrategy::StatusOf(const Context& ctx, json::Value object,
                                      json::Value old) const {
  object = OnlyStatus(ctx.arena, object, old);
  const auto keep = [&](std::string_view name) {
    const json::Value value = old["metadata"][name];
    object = value.is_null() ? json::RemovePath(ctx.arena, object, {"metadata", name})
                             : json::SetPath(ctx.arena, object, {"metadata", name}, value);
  };
  if (traits_.status_keeps_labels || traits_.status_keeps_metadata) keep("labels");
  if (!traits_.status_keeps_metadata) return object;
  for (const std::string_view name : {"annotations", "ownerReferences", "finalizers"}) keep(name);
  return object;
}

json::Value DefaultStrategy::PrepareForUpdate(const Context& ctx, json::Value object,
                                              json::Value old) const {
  if (ctx.subresource == "status") return StatusOf(ctx, object, old);
  object = WithoutDisabled(ctx, object, old);
  if (traits_.has_status) object = KeepStatus(ctx.arena, object, old);
  if (traits_.counts_generation) object = CountGeneration(ctx.arena, object, old);
  return object;
}

void DefaultStrategy::Validate(const Context& ctx, json::Value object,
                               api::FieldErrors& errors) const {
  ValidateKind(kind_, ctx, object, errors);
}

void DefaultStrategy::ValidateUpdate(const Context& ctx, json::Value object, json::Value old,
                                     api::FieldErrors& errors) const {
  ValidateKindUpdate(kind_, ctx, object, old, errors);
}

void DefaultStrategy::Warnings(const Context& ctx, json::Value object,
                               std::vector<std::string>& warnings) const {
  if (kind_ != nullptr && kind_->warn != nullptr) kind_->warn(ctx, object, {}, warnings);
}

void DefaultStrategy::UpdateWarnings(const Context& ctx, json::Value object, json::Value old,
                                     std::vector<std::string>& warnings) const {
  if (kind_ == nullptr || kind_->warn == nullptr || !ctx.subresource.empty()) return;
  kind_->warn(ctx, object, old, warnings);
}

// k8s.io/apimachinery/pkg/api/validation/path.
std::vector<std::string> DefaultStrategy::CheckName(std::string_view name, bool is_prefix) const {
  if (traits_.names == NameStyle::kSubdomain) return Strategy::CheckName(name, is_prefix);
  if (traits_.names == NameStyle::kLabel) {
    if (!is_prefix || !name.ends_with('-')) return api::IsDns1123Label(name);
    // A generateName may end in a dash: the generated part follows.
    return api::IsDns1123Label(std::string(name.substr(0, name.size() - 1)) + "a");
  }
  std::vector<std::string> texts;
  if (!is_prefix && (name == "." || name == "..")) {
    texts.push_back("may not be '" + std::string(name) + "'");
    return texts;
  }
  for (std::string_view forbidden : {"/", "%"}) {
    if (name.find(forbidden) != std::string_view::npos) {
      texts.push_back("may not contain '" + std::string(forbidden) + "'");
    }
  }
  return texts;
}

}  // namespace portcullis::registry
