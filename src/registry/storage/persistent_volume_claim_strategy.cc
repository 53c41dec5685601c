// SPDX-License-Identifier: Apache-2.0

// PersistentVolumeClaims (pkg/apis/core/validation).

#include <algorithm>

#include "api/named_value.h"
#include "base/strings.h"
#include "json/edit.h"
#include "json/sorted.h"
#include "registry/kind_table.h"
#include "registry/pods/pod_parts.h"
#include "registry/pods/pod_warnings.h"
#include "registry/storage/volume_checks.h"
#include "registry/validation/resource_names.h"

namespace portcullis::registry {
namespace {

void ValidatePersistentVolumeClaim(const Context&, json::Value object, FieldErrors& errors) {
  CheckClaimSpec(object["spec"], FieldPath("spec"), errors);
}

// Of what a claim has amounts: storage, and whatever has a domain of its own.
bool CheckClaimResource(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  const std::size_t before = errors.size();
  AddInvalid(path, name, api::IsQualifiedName(name), errors);
  if (errors.size() != before) return false;
  if (!IsNativeResource(name) || name == "storage") return true;
  errors.push_back(api::NotSupported(path, api::NamedValue(name), {"storage"}));
  return false;
}

void CheckClaimStatus(json::Value status, FieldErrors& errors) {
  const FieldPath path("status");
  for (const json::Member* amount : json::MembersByName(status["capacity"])) {
    CheckNotNegative(QuantityOf(amount->value), path.Child("capacity").Key(amount->name()), errors);
  }
  const FieldPath resizes = path.Child("allocatedResourceStatuses");
  constexpr std::string_view kStates[] = {"ControllerResizeInProgress",
                                          "ControllerResizeInfeasible", "NodeResizeInProgress",
                                          "NodeResizeInfeasible", "NodeResizePending"};
  for (const json::Member* resize : json::MembersByName(status["allocatedResourceStatuses"])) {
    CheckClaimResource(resize->name(), resizes, errors);
    const std::string_view state = resize->value.AsString();
    if (std::find(std::begin(kStates), std::end(kStates), state) != std::end(kStates)) continue;
    // The name is told, not the state.
    errors.push_back(
        api::NotSupported(resizes, resize->name(),
                          {"ControllerResizeInProgress", "ControllerResizeInfeasible",
                           "NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"}));
  }
  const FieldPath allocated = path.Child("allocatedResources");
  for (const json::Member* amount : json::MembersByName(status["allocatedResources"])) {
    if (!CheckClaimResource(amount->name(), allocated, errors)) continue;
    CheckNotNegative(QuantityOf(amount->value), allocated.Key(amount->name()), errors);
  }
}

void ValidatePersistentVolumeClaimUpdate(const Context& ctx, json::Value object, json::Value old,
                                         FieldErrors& errors) {
  if (ctx.subresource == "status") return CheckClaimStatus(object["status"], errors);
  CheckClaimSpec(object["spec"], FieldPath("spec"), errors, old["spec"]);
  const FieldPath path("spec");
  json::Value before = old["spec"];
  json::Value after = object["spec"];
  const auto take_old = [&](std::string_view field) {
    after = json::WithMemberOf(ctx.arena, after, field, before);
  };
  // A claim that has no volume, or no class, may be given one.
  if (const json::Value name = after["volumeName"];
      before["volumeName"].AsString().empty() && !name.is_null()) {
    before = json::With(ctx.arena, before, "volumeName", name);
  }
  const std::string_view beta_class = old["metadata"]["annotations"][kBetaClass].AsString();
  const bool had_beta = old["metadata"]["annotations"].Has(kBetaClass);
  if (before["storageClassName"].is_null() && !after["storageClassName"].is_null() &&
      (!had_beta || after["storageClassName"].AsString() == beta_class)) {
    take_old("storageClassName");
  }
  // The annotation may become the field of the same class, and may not change else.
  const json::Value given = object["metadata"]["annotations"];
  const bool upgrades = had_beta && old["spec"]["storageClassName"].is_null() &&
                        object["spec"]["storageClassName"].is_string() &&
                        object["spec"]["storageClassName"].AsString() == beta_class &&
                        (!given.Has(kBetaClass) || given[kBetaClass].AsString() == beta_class);
  if (!upgrades && given[kBetaClass].AsString() != beta_class) {
    errors.push_back(api::Invalid(FieldPath("metadata", "annotations", kBetaClass),
                                  given[kBetaClass].AsString(), "field is immutable"));
  }
  const bool bound = object["status"]["phase"].AsString() == "Bound";
  if (bound && !after["resources"]["requests"].is_null()) {
    after = json::SetPath(ctx.arena, after, {"resources", "requests", "storage"},
                          before["resources"]["requests"]["storage"]);
  }
  if (bound) take_old("volumeAttributesClassName");
  if (!(after == before)) {
    errors.push_back(api::Forbidden(
        path, base::StrCat("spec is immutable after creation except resources.requests and "
                           "volumeAttributesClassName for bound claims",
                           StructDifference(ctx, "io.k8s.api.core.v1.PersistentVolumeClaimSpec",
                                            before, after, ctx.sent["spec"]))));
  }
  const api::Quantity size = QuantityOf(object["spec"]["resources"]["requests"]["storage"]);
  if (size < QuantityOf(before["resources"]["requests"]["storage"]) &&
      size <= QuantityOf(old["status"]["capacity"]["storage"])) {
    errors.push_back(api::Forbidden(path.Child("resources", "requests", "storage"),
                                    "field can not be less than status.capacity"));
  }
  CheckImmutable(object["spec"]["volumeMode"], before["volumeMode"], FieldPath("volumeMode"),
                 errors);
  CheckAttributesClassStays(ctx, object, old, errors);
  // A class that the volume has got is not taken away from it.
  const json::Value attributes = object["spec"]["volumeAttributesClassName"];
  const bool applied = !old["status"]["currentVolumeAttributesClassName"].is_null();
  if (applied && attributes.AsString().empty() &&
      !(attributes == before["volumeAttributesClassName"])) {
    errors.push_back(
        api::Forbidden(path.Child("volumeAttributesClassName"),
                       base::StrCat("update to ", attributes.is_null() ? "nil" : "empty string",
                                    " is forbidden when status.currentVolumeAttributesClassName is "
                                    "not nil")));
  }
}

constexpr DisabledField kDisabledOfClaims[] = {
    {"VolumeAttributesClass", "spec.volumeAttributesClassName"},
    {"VolumeAttributesClass", "status.currentVolumeAttributesClassName"},
    {"VolumeAttributesClass", "status.modifyVolumeStatus"}};

// What a volume may be filled from by dataSource; dataSourceRef takes anything (KEP-1495).
bool IsClaimOrSnapshot(json::Value source) {
  const std::string_view group = source["apiGroup"].AsString();
  const std::string_view kind = source["kind"].AsString();
  return (kind == "PersistentVolumeClaim" && group.empty()) ||
         (kind == "VolumeSnapshot" && group == "snapshot.storage.k8s.io");
}

// dataSource and dataSourceRef say the same, unless the reference leads to another namespace. What
// dataSource cannot name is dropped, but not from a claim that has a source already.
json::Value NormalizeDataSources(json::Arena& arena, json::Value spec, json::Value old) {
  const json::Value reference = spec["dataSourceRef"];
  json::Value source = spec["dataSource"];
  const bool in_use = old["dataSource"].is_object() || old["dataSourceRef"].is_object();
  if (source.is_object() && !reference.is_object() && !in_use && !IsClaimOrSnapshot(source)) {
    spec = json::Without(arena, spec, "dataSource");
    source = json::Value();
  }
  if (source.is_object() && !reference.is_object()) {
    return json::With(arena, spec, "dataSourceRef", source);
  }
  if (reference.is_object() && !source.is_object() && reference["namespace"].AsString().empty()) {
    return json::With(arena, spec, "dataSource", json::Without(arena, reference, "namespace"));
  }
  return spec;
}

// A source in another namespace needs a gate that is off: the whole reference is passed over.
json::Value WithoutForeignSource(const Context& ctx, json::Value spec, json::Value old) {
  if (spec["dataSourceRef"]["namespace"].AsString().empty()) return spec;
  if (!old["dataSourceRef"].is_null()) return spec;
  if (ctx.release->GateEnabled("CrossNamespaceVolumeDataSource")) return spec;
  return json::Without(ctx.arena, spec, "dataSourceRef");
}

class Claims final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    return WithDataSources(ctx, DefaultStrategy::PrepareForCreate(ctx, object), {});
  }

  // An update need not repeat what the server has filled in.
  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    object = DefaultStrategy::PrepareForUpdate(ctx, object, old);
    return ctx.subresource.empty() ? WithDataSources(ctx, object, old["spec"]) : object;
  }

 private:
  static json::Value WithDataSources(const Context& ctx, json::Value object, json::Value old) {
    const json::Value spec = WithoutForeignSource(ctx, object["spec"], old);
    return json::With(ctx.arena, object, "spec", NormalizeDataSources(ctx.arena, spec, old));
  }
};

void WarnOfClaim(const Context&, json::Value object, json::Value,
                 std::vector<std::string>& warnings) {
  WarnOfBetaClass(object, warnings);
  ClaimSpecWarnings(object["spec"], FieldPath("spec"), warnings);
}

}  // namespace

void AddPersistentVolumeClaimStrategy(KindTable& table) {
  table.Add({.group = "",
             .resource = "persistentvolumeclaims",
             .validate = &ValidatePersistentVolumeClaim,
             .validate_update = &ValidatePersistentVolumeClaimUpdate,
             .warn = &WarnOfClaim,
             .traits = {.returns_deleted = true},
             .metadata = {.update = "UF"},
             .disabled = kDisabledOfClaims,
             .make = &Make<Claims>});
}

}  // namespace portcullis::registry
