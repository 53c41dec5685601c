// SPDX-License-Identifier: Apache-2.0

// PersistentVolumes (pkg/apis/core/validation).

#include "api/catalog/catalog.h"
#include "api/schema/schema.h"
#include "base/strings.h"
#include "registry/kind_table.h"
#include "registry/pods/pod_parts.h"
#include "registry/pods/pod_warnings.h"
#include "registry/storage/volume_checks.h"
#include "registry/validation/go_diff.h"
#include "registry/validation/sent_values.h"

namespace portcullis::registry {
namespace {

// The sources of a volume alone.
json::Value SourcesOf(json::Arena& arena, json::Value spec) {
  json::ObjectBuilder out(arena);
  for (const std::string_view source : VolumeSources()) {
    if (!spec[source].is_null()) out.Set(source, spec[source]);
  }
  return out.Build();
}

// The sources in the order of the Go type.
constexpr std::string_view kSourceFields[] = {"gcePersistentDisk",
                                              "awsElasticBlockStore",
                                              "hostPath",
                                              "glusterfs",
                                              "nfs",
                                              "rbd",
                                              "quobyte",
                                              "iscsi",
                                              "flexVolume",
                                              "cinder",
                                              "cephfs",
                                              "fc",
                                              "flocker",
                                              "azureFile",
                                              "vsphereVolume",
                                              "azureDisk",
                                              "photonPersistentDisk",
                                              "portworxVolume",
                                              "scaleIO",
                                              "local",
                                              "storageos",
                                              "csi"};

// The difference of two PersistentVolumeSources; the catalog knows them as part of the spec.
std::string SourceDifference(const Context& ctx, json::Value before, json::Value after) {
  if (ctx.catalog == nullptr) return "";
  const auto* spec = ctx.catalog->FindDefinition("io.k8s.api.core.v1.PersistentVolumeSpec");
  if (spec == nullptr) return "";
  api::schema::Schema source;
  source.kind = spec->kind;
  for (const std::string_view name : kSourceFields) {
    if (const auto* field = spec->FindField(name)) source.fields.push_back(*field);
  }
  return "\n" + GoDiff(source, before, after, ctx.sent["spec"]);
}

void ValidatePersistentVolume(const Context& ctx, json::Value object, FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  // An empty map is quoted as such.
  CheckVolumeSpec(WithSentEmpty(ctx.arena, object["spec"], ctx.sent["spec"], "capacity"),
                  VolumeSpecOf::kVolume, FieldPath("spec"), errors);
}

void ValidatePersistentVolumeUpdate(const Context& ctx, json::Value object, json::Value old,
                                    FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  // Once more: each fault is told twice.
  ValidatePersistentVolume(ctx, object, errors);
  const json::Value before = SourcesOf(ctx.arena, old["spec"]);
  json::Value after = SourcesOf(ctx.arena, object["spec"]);
  const bool expands = !before["csi"].is_null() && !before["csi"].Has("controllerExpandSecretRef");
  if (expands && !after["csi"].is_null()) {
    after = json::RemovePath(ctx.arena, after, {"csi", "controllerExpandSecretRef"});
  }
  if (!(before == after)) {
    errors.push_back(
        api::Forbidden(FieldPath("spec", "persistentvolumesource"),
                       base::StrCat("spec.persistentvolumesource is immutable after creation",
                                    SourceDifference(ctx, before, after))));
  }
  CheckImmutable(object["spec"]["volumeMode"], old["spec"]["volumeMode"], FieldPath("volumeMode"),
                 errors);
  const json::Value affinity = old["spec"]["nodeAffinity"];
  if (!affinity.is_null() && !(affinity == object["spec"]["nodeAffinity"])) {
    errors.push_back(
        api::Invalid(FieldPath("nodeAffinity"),
                     GoValue(ctx, "io.k8s.api.core.v1.VolumeNodeAffinity",
                             object["spec"]["nodeAffinity"], ctx.sent["spec"]["nodeAffinity"]),
                     "field is immutable, except for updating from beta label to GA"));
  }
  CheckAttributesClassStays(ctx, object, old, errors);
}

constexpr DisabledField kDisabledOfVolumes[] = {
    {"VolumeAttributesClass", "spec.volumeAttributesClassName"}};

class Volumes final : public DefaultStrategy {
 public:
  using DefaultStrategy::DefaultStrategy;

  json::Value PrepareForCreate(const Context& ctx, json::Value object) const override {
    const std::string now = base::FormatTime(ctx.clock.Now());
    return json::With(
        ctx.arena, object, "status",
        json::MakeObject(ctx.arena, {{"phase", PendingPhase()},
                                     {"lastPhaseTransitionTime", json::String(ctx.arena, now)}}));
  }

  // A change of the phase is dated, unless the client has done so.
  json::Value PrepareForUpdate(const Context& ctx, json::Value object,
                               json::Value old) const override {
    object = DefaultStrategy::PrepareForUpdate(ctx, object, old);
    if (ctx.subresource != "status") return object;
    constexpr std::string_view kSince = "lastPhaseTransitionTime";
    const json::Value since = object["status"][kSince];
    const json::Value before = old["status"][kSince];
    const bool same = object["status"]["phase"] == old["status"]["phase"];
    if (same && since.is_null() && !before.is_null()) {
      return json::SetPath(ctx.arena, object, {"status", kSince}, before);
    }
    if (same || !(since.is_null() || since == before)) return object;
    return json::SetPath(ctx.arena, object, {"status", kSince},
                         json::String(ctx.arena, base::FormatTime(ctx.clock.Now())));
  }
};

void WarnOfVolume(const Context&, json::Value object, json::Value,
                  std::vector<std::string>& warnings) {
  WarnOfBetaClass(object, warnings);
  const json::Value spec = object["spec"];
  if (spec["persistentVolumeReclaimPolicy"].AsString() == "Recycle") {
    warnings.emplace_back(
        "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, "
        "the recommended approach is to use dynamic provisioning.");
  }
  const FieldPath terms("spec", "nodeAffinity", "required", "nodeSelectorTerms");
  std::size_t index = 0;
  for (const json::Value& term : spec["nodeAffinity"]["required"]["nodeSelectorTerms"].elements()) {
    NodeTermWarnings(term, false, terms.Index(index++), warnings);
  }
  for (const json::Member& field : spec.members()) {
    const std::string_view text = DeprecatedVolume(field.name());
    if (text.empty()) continue;
    const std::string_view place = field.name() == "storageos" ? "storageOS" : field.name();
    warnings.push_back(base::StrCat("spec.", place, ": ", text));
  }
}

}  // namespace

void AddPersistentVolumeStrategy(KindTable& table) {
  table.Add({.group = "",
             .resource = "persistentvolumes",
             .validate = &ValidatePersistentVolume,
             .validate_between = &AsNew<&ValidatePersistentVolume>,
             .validate_update = &ValidatePersistentVolumeUpdate,
             .warn = &WarnOfVolume,
             .traits = {.returns_deleted = true},
             .metadata = {.update = "FF"},
             .disabled = kDisabledOfVolumes,
             .make = &Make<Volumes>});
}

}  // namespace portcullis::registry
