// SPDX-License-Identifier: Apache-2.0

#include "registry/default_strategy.h"

#include "api/catalog/catalog.h"
#include "api/conversion/conversion.h"
#include "api/schema/sent_forms.h"
#include "api/selector/label_selector.h"
#include "registry/kind_table.h"
#include "registry/pods/pod_disabled_fields.h"
#include "registry/validation/checks.h"
#include "registry/validation/object_meta.h"

namespace portcullis::registry {

namespace {

// Whether the client's text has a list or map that is empty, and still is in the object.
bool SendsEmpty(const Context& ctx, json::Value object) {
  const auto* resource = ctx.catalog == nullptr ? nullptr : ctx.catalog->FindKind(ctx.kind);
  const json::Value rest = json::Without(ctx.arena, ctx.sent, "metadata");
  return resource != nullptr &&
         api::schema::AnySent(resource->schema, rest, object, [](const auto& form) {
           return form.is_empty() && form.decoded.empty();
         });
}

}  // namespace

DefaultStrategy::DefaultStrategy(const Kind& kind) : kind_(kind), disabled_(kind.disabled) {}

const Traits& DefaultStrategy::traits() const { return kind_.traits; }
bool DefaultStrategy::ReturnsDeletedObject() const { return traits().returns_deleted; }
bool DefaultStrategy::ChecksMetadataLast() const { return traits().metadata_last; }
bool DefaultStrategy::AllowCreateOnUpdate() const { return traits().created_by_put; }
bool DefaultStrategy::AllowCreateOnApplyStatus() const { return traits().created_by_apply_status; }
bool DefaultStrategy::AllowUnconditionalUpdate() const { return !traits().needs_version; }

json::Value DefaultStrategy::WithoutDisabled(const Context& ctx, json::Value object,
                                             json::Value old) const {
  if (!kind_.pod_spec.empty()) {
    object = WithoutDisabledFieldsOfPods(ctx, kind_.pod_spec, object, old);
  }
  return WithoutOwnDisabled(ctx, object, old);
}

json::Value DefaultStrategy::WithoutOwnDisabled(const Context& ctx, json::Value object,
                                                json::Value old) const {
  if (kind_.disabled.empty()) return object;
  const json::Value judged = Judged(ctx, object);
  const json::Value rest = disabled_.Drop(ctx, {}, judged, Judged(ctx, old));
  if (rest.IsSameAs(judged)) return object;
  if (judged.IsSameAs(object)) return rest;
  const auto back = api::Convert(ctx.arena, rest, ctx.kind);
  return back.ok() ? *back : object;
}

json::Value DefaultStrategy::PrepareForCreate(const Context& ctx, json::Value object) const {
  object = WithoutDisabled(ctx, object, {});
  if (traits().has_status) {
    // Go writes the empty struct; kinds whose status is left out when empty lose it on encoding.
    if (object.Has("status")) {
      object = json::With(ctx.arena, object, "status", json::MakeObject(ctx.arena, {}));
    }
  }
  if (traits().counts_generation) {
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
  const StatusKeeps kept = traits().status_keeps;
  if (kept >= StatusKeeps::kLabels) keep("labels");
  if (kept >= StatusKeeps::kMetadata) {
    for (const std::string_view name : {"annotations", "ownerReferences", "finalizers"}) keep(name);
  }
  if (kept == StatusKeeps::kWholeMetadata) {
    for (const std::string_view name : {"generateName", "uid"}) keep(name);
  }
  return object;
}

json::Value DefaultStrategy::PrepareForUpdate(const Context& ctx, json::Value object,
                                              json::Value old) const {
  if (ctx.subresource == "status") {
    return WithoutOwnDisabled(ctx, StatusOf(ctx, object, old), old);
  }
  const json::Value whole = object;
  object = WithoutDisabled(ctx, object, old);
  if (traits().has_status) object = KeepStatus(ctx.arena, object, old);
  if (!traits().counts_generation) return object;
  object = CountGeneration(ctx.arena, object, old);
  const std::int64_t before = old["metadata"]["generation"].AsInt();
  const bool annotated = traits().counts_annotations &&
                         !(object["metadata"]["annotations"] == old["metadata"]["annotations"]);
  const bool dropped =
      traits().counts_dropped && !whole.IsSameAs(object) &&
      CountGeneration(ctx.arena, whole, old)["metadata"]["generation"].AsInt() != before;
  const bool emptied = traits().counts_empty && SendsEmpty(ctx, object);
  const bool counts = annotated || dropped || emptied;
  if (!counts || object["metadata"]["generation"].AsInt() != before) return object;
  return json::SetPath(ctx.arena, object, {"metadata", "generation"}, json::Value::Int(before + 1));
}

json::Value DefaultStrategy::Judged(const Context& ctx, json::Value object) const {
  if (kind_.judged_in.empty() || object.is_null()) return object;
  const auto converted = api::Convert(ctx.arena, object,
                                      {std::string(kind_.group), std::string(kind_.judged_in),
                                       std::string(object["kind"].AsString())});
  return converted.ok() ? *converted : object;
}

Context DefaultStrategy::Judging(const Context& ctx) const {
  Context judging = ctx;
  judging.sent = Judged(ctx, ctx.sent);
  return judging;
}

void DefaultStrategy::Validate(const Context& ctx, json::Value object,
                               api::FieldErrors& errors) const {
  if (!traits().free_finalizers) CheckFinalizersQualified(object, errors);
  object = Judged(ctx, object);
  if (kind_.validate != nullptr) kind_.validate(Judging(ctx), object, errors);
  CheckFieldRules(kind_.rules, object, nullptr, errors);
}

void DefaultStrategy::ValidateUpdate(const Context& ctx, json::Value object, json::Value old,
                                     api::FieldErrors& errors) const {
  object = Judged(ctx, object);
  old = Judged(ctx, old);
  const bool is_whole = ctx.subresource.empty();
  if (kind_.validate_update != nullptr) {
    kind_.validate_update(Judging(ctx), object, old, errors);
  } else if (kind_.validate != nullptr && kind_.validate_between == nullptr && is_whole) {
    kind_.validate(Judging(ctx), object, errors);
  }
  if (is_whole && !kind_.rules_between) CheckFieldRules(kind_.rules, object, &old, errors);
}

void DefaultStrategy::ValidateBetween(const Context& ctx, json::Value object, json::Value old,
                                      api::FieldErrors& errors) const {
  const bool has_rules = ctx.subresource.empty() && kind_.rules_between;
  if (kind_.validate_between == nullptr && !has_rules) return;
  object = Judged(ctx, object);
  old = Judged(ctx, old);
  if (kind_.validate_between != nullptr) kind_.validate_between(Judging(ctx), object, old, errors);
  if (has_rules) CheckFieldRules(kind_.rules, object, &old, errors);
}

void DefaultStrategy::Warnings(const Context& ctx, json::Value object,
                               std::vector<std::string>& warnings) const {
  if (kind_.warn != nullptr) kind_.warn(ctx, object, {}, warnings);
}

void DefaultStrategy::UpdateWarnings(const Context& ctx, json::Value object, json::Value old,
                                     std::vector<std::string>& warnings) const {
  if (ctx.subresource.empty() && kind_.warn != nullptr) kind_.warn(ctx, object, old, warnings);
  if (ctx.subresource == "status" && kind_.warn_of_status != nullptr) {
    kind_.warn_of_status(ctx, object, old, warnings);
  }
}

std::string_view DefaultStrategy::MetadataChecks(std::string_view subresource) const {
  const bool whole = subresource.empty() || subresource == "approval";
  return whole ? kind_.metadata.update : kind_.metadata.subresource;
}

std::vector<std::string_view> DefaultStrategy::ResetFields(const Context& ctx) const {
  std::vector<std::string_view> fields;
  if (ctx.subresource != "status") {
    if (traits().has_status) fields.emplace_back("status");
    return fields;
  }
  fields.emplace_back("spec");
  if (traits().status_keeps >= StatusKeeps::kMetadata) {
    fields.emplace_back("metadata");
  } else if (traits().status_keeps == StatusKeeps::kLabels) {
    fields.emplace_back("metadata.labels");
  }
  return fields;
}

std::vector<std::string> DefaultStrategy::CheckName(const Context& ctx, std::string_view name,
                                                    bool is_prefix) const {
  switch (traits().names) {
    case NameStyle::kSubdomain:
      return Strategy::CheckName(ctx, name, is_prefix);
    case NameStyle::kLabel:
      return api::IsDns1123Label(is_prefix ? api::MaskTrailingDash(name) : name);
    case NameStyle::kPathSegment:
      return IsPathSegmentName(name, is_prefix);
    case NameStyle::kWholePathSegment:
      return IsPathSegmentName(name, false);
    case NameStyle::kDeclaredSubdomain:
      if (is_prefix) return {};
      return Strategy::CheckName(ctx, name, is_prefix);
    case NameStyle::kAny:
      return {};
  }
  return {};
}

}  // namespace portcullis::registry
