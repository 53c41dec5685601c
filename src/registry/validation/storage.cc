// Volumes and claims on them (pkg/apis/core/validation).

#include <algorithm>

#include "api/catalog/catalog.h"
#include "base/strings.h"
#include "registry/validation/go_diff.h"
#include "registry/validation/kinds.h"
#include "registry/validation/pod_parts.h"

namespace portcullis::registry {
namespace {

// Sources in the order in which they are looked at.
constexpr std::string_view kVolumeSources[] = {"hostPath",
                                               "gcePersistentDisk",
                                               "awsElasticBlockStore",
                                               "glusterfs",
                                               "flocker",
                                               "nfs",
                                               "rbd",
                                               "quobyte",
                                               "cephfs",
                                               "iscsi",
                                               "cinder",
                                               "fc",
                                               "flexVolume",
                                               "azureFile",
                                               "vsphereVolume",
                                               "photonPersistentDisk",
                                               "portworxVolume",
                                               "azureDisk",
                                               "scaleIO",
                                               "local",
                                               "storageos",
                                               "csi"};
constexpr std::string_view kBetaClass = "volume.beta.kubernetes.io/storage-class";

void CheckDataSource(json::Value source, const FieldPath& path, FieldErrors& errors) {
  if (source.is_null()) return;
  RequireField(source, "name", path, errors);
  RequireField(source, "kind", path, errors);
  const std::string_view group = source["apiGroup"].AsString();
  const std::string_view kind = source["kind"].AsString();
  if (group.empty() && kind != "PersistentVolumeClaim") {
    errors.push_back(api::Invalid(
        path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"));
  }
  if (!group.empty()) CheckSubdomain(group, path.Child("apiGroup"), errors);
  if (const std::string_view name = source["namespace"].AsString(); !name.empty()) {
    CheckDnsLabel(name, path.Child("namespace"), errors);
  }
}

void CheckDataSources(json::Value spec, const FieldPath& path, FieldErrors& errors) {
  const json::Value source = spec["dataSource"];
  const json::Value reference = spec["dataSourceRef"];
  CheckDataSource(source, path.Child("dataSource"), errors);
  CheckDataSource(reference, path.Child("dataSourceRef"), errors);
  if (source.is_null() || reference.is_null()) return;
  // Kubernetes shows the path itself, whose fields are private.
  const api::BadValue shown = api::BadValue::Raw("{}");
  if (!reference["namespace"].AsString().empty()) {
    errors.push_back(api::Invalid(
        path, shown, "may not be specified when dataSourceRef.namespace is specified"));
  } else if (!(source["apiGroup"] == reference["apiGroup"]) ||
             !(source["kind"] == reference["kind"]) || !(source["name"] == reference["name"])) {
    errors.push_back(api::Invalid(path, shown, "must match dataSourceRef"));
  }
}

void CheckVolumeSources(json::Value spec, bool has_affinity, const FieldPath& path,
                        FieldErrors& errors) {
  bool found = false;
  for (const std::string_view source : kVolumeSources) {
    if (spec[source].is_null()) continue;
    if (found && source != "flexVolume") {
      errors.push_back(api::Forbidden(path.Child(source == "cephfs" ? "cephFS" : source),
                                      "may not specify more than 1 volume type"));
      continue;
    }
    found = true;
    const std::string_view place = source == "gcePersistentDisk" ? "persistentDisk" : source;
    CheckVolumeField(spec[source], source, path.Child(place), true, errors);
    if (source == "local" && !has_affinity) {
      errors.push_back(
          api::Required(path.Child("nodeAffinity"), "Local volume requires node affinity"));
    }
  }
  if (!found) errors.push_back(api::Required(path, "must specify a volume type"));
}

// A Go map in JSON: its keys in order.
std::string MapJson(json::Value map) {
  if (map.is_null()) return "null";
  std::string out = "{";
  for (const json::Member* member : SortedMembers(map)) {
    if (out.size() > 1) out += ",";
    out += base::StrCat(Quoted(member->name()), ":", Json(member->value));
  }
  return out + "}";
}

void CheckCapacity(json::Value capacity, const FieldPath& path, FieldErrors& errors) {
  if (capacity.empty()) errors.push_back(api::Required(path, ""));
  if (capacity["storage"].is_null() || capacity.size() > 1) {
    errors.push_back(api::NotSupported(path, api::BadValue::Raw(MapJson(capacity)), {"storage"}));
  }
  for (const json::Member* entry : SortedMembers(capacity)) {
    const api::Quantity amount = QuantityOf(entry->value);
    if (amount.Sign() <= 0) {
      errors.push_back(
          api::Invalid(path.Key(entry->name()), amount.ToString(), "must be greater than zero"));
    }
  }
}

// "" or the difference of two structs, as Kubernetes appends it to "… is immutable".
std::string Difference(const Context& ctx, std::string_view definition, json::Value before,
                       json::Value after) {
  if (ctx.catalog == nullptr) return "";
  const auto* schema = ctx.catalog->FindDefinition(definition);
  return schema == nullptr ? "" : "\n" + GoDiff(*schema, before, after);
}

// The sources of a volume alone.
json::Value SourcesOf(json::Arena& arena, json::Value spec) {
  json::ObjectBuilder out(arena);
  for (const std::string_view source : kVolumeSources) {
    if (!spec[source].is_null()) out.Set(source, spec[source]);
  }
  return out.Build();
}

}  // namespace

void CheckAccessModes(json::Value modes, const FieldPath& path, FieldErrors& errors) {
  bool once_pod = false;
  bool other = false;
  for (const json::Value& mode : modes.elements()) {
    const bool good = CheckOneOf(
        mode, path, {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"}, errors);
    if (!good) continue;
    (mode.AsString() == "ReadWriteOncePod" ? once_pod : other) = true;
  }
  if (once_pod && other) {
    errors.push_back(api::Forbidden(path, "may not use ReadWriteOncePod with other access modes"));
  }
}

void CheckClaimSpec(json::Value spec, const FieldPath& path, FieldErrors& errors) {
  if (spec["accessModes"].empty()) {
    errors.push_back(
        api::Required(path.Child("accessModes"), "at least 1 access mode is required"));
  }
  if (!spec["selector"].is_null()) {
    for (api::FieldError& error :
         api::ValidateLabelSelector(spec["selector"], path.Child("selector"))) {
      errors.push_back(std::move(error));
    }
  }
  CheckAccessModes(spec["accessModes"], path.Child("accessModes"), errors);
  const FieldPath storage_path = path.Child("resources").Key("storage");
  const json::Value storage = spec["resources"]["requests"]["storage"];
  if (storage.is_null()) {
    errors.push_back(api::Required(storage_path, ""));
  } else if (QuantityOf(storage).Sign() <= 0) {
    errors.push_back(
        api::Invalid(storage_path, QuantityOf(storage).ToString(), "must be greater than zero"));
  }
  if (const std::string_view name = spec["storageClassName"].AsString(); !name.empty()) {
    CheckSubdomain(name, path.Child("storageClassName"), errors);
  }
  if (!spec["volumeMode"].is_null()) {
    CheckOneOf(spec["volumeMode"], path.Child("volumeMode"), {"Block", "Filesystem"}, errors);
  }
  CheckDataSources(spec, path, errors);
  if (const std::string_view name = spec["volumeAttributesClassName"].AsString(); !name.empty()) {
    CheckSubdomain(name, path.Child("volumeAttributesClassName"), errors);
  }
}

void ValidatePersistentVolumeClaim(const Context&, json::Value object, FieldErrors& errors) {
  CheckClaimSpec(object["spec"], FieldPath("spec"), errors);
}

void ValidatePersistentVolumeClaimUpdate(const Context& ctx, json::Value object, json::Value old,
                                         FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  ValidatePersistentVolumeClaim(ctx, object, errors);
  const FieldPath path("spec");
  const json::Value before = old["spec"];
  json::Value after = object["spec"];
  const auto take_old = [&](std::string_view field) {
    const json::Value* value = before.Find(field);
    after = value == nullptr ? json::Without(ctx.arena, after, field)
                             : json::With(ctx.arena, after, field, *value);
  };
  // A claim that has no volume, or no class, may be given one.
  if (before["volumeName"].AsString().empty()) take_old("volumeName");
  const std::string_view beta_class = old["metadata"]["annotations"][kBetaClass].AsString();
  const bool had_beta = old["metadata"]["annotations"].Has(kBetaClass);
  if (before["storageClassName"].is_null() && !after["storageClassName"].is_null() &&
      (!had_beta || after["storageClassName"].AsString() == beta_class)) {
    take_old("storageClassName");
  }
  if (!(object["metadata"]["annotations"][kBetaClass] ==
        old["metadata"]["annotations"][kBetaClass]) &&
      (!had_beta || object["metadata"]["annotations"].Has(kBetaClass))) {
    errors.push_back(api::Invalid(FieldPath("metadata", "annotations", kBetaClass),
                                  object["metadata"]["annotations"][kBetaClass].AsString(),
                                  "field is immutable"));
  }
  const bool bound = object["status"]["phase"].AsString() == "Bound";
  if (bound && !after["resources"]["requests"].is_null()) {
    after = json::SetPath(ctx.arena, after, {"resources", "requests", "storage"},
                          before["resources"]["requests"]["storage"]);
  }
  if (bound && !after["volumeAttributesClassName"].is_null()) take_old("volumeAttributesClassName");
  if (!(after == before)) {
    errors.push_back(api::Forbidden(
        path, base::StrCat(
                  "spec is immutable after creation except resources.requests and "
                  "volumeAttributesClassName for bound claims",
                  Difference(ctx, "io.k8s.api.core.v1.PersistentVolumeClaimSpec", before, after))));
  }
  const api::Quantity size = QuantityOf(object["spec"]["resources"]["requests"]["storage"]);
  if (size < QuantityOf(before["resources"]["requests"]["storage"]) &&
      size <= QuantityOf(old["status"]["capacity"]["storage"])) {
    errors.push_back(api::Forbidden(path.Child("resources", "requests", "storage"),
                                    "field can not be less than status.capacity"));
  }
  CheckImmutable(object["spec"]["volumeMode"], before["volumeMode"], FieldPath("volumeMode"),
                 errors);
  const json::Value attributes = object["spec"]["volumeAttributesClassName"];
  if (!before["volumeAttributesClassName"].is_null() && attributes.is_null()) {
    errors.push_back(api::Forbidden(path.Child("volumeAttributesClassName"),
                                    "update from non-nil value to nil is forbidden"));
  }
}

void ValidatePersistentVolume(const Context& ctx, json::Value object, FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  const json::Value spec = object["spec"];
  const FieldPath path("spec");
  if (spec["accessModes"].empty()) errors.push_back(api::Required(path.Child("accessModes"), ""));
  CheckAccessModes(spec["accessModes"], path.Child("accessModes"), errors);
  CheckCapacity(spec["capacity"], path.Child("capacity"), errors);
  if (!spec["persistentVolumeReclaimPolicy"].AsString().empty()) {
    CheckOneOf(spec["persistentVolumeReclaimPolicy"], path.Child("persistentVolumeReclaimPolicy"),
               {"Delete", "Recycle", "Retain"}, errors);
  }
  const json::Value affinity = spec["nodeAffinity"];
  if (!affinity.is_null()) {
    const FieldPath required = path.Child("nodeAffinity", "required");
    if (affinity["required"].is_null()) {
      errors.push_back(api::Required(required, "must specify required node constraints"));
    } else {
      CheckNodeSelector(affinity["required"], required, errors);
    }
  }
  CheckVolumeSources(spec, !affinity.is_null(), path, errors);
  if (spec["hostPath"]["path"].AsString() == "/" &&
      spec["persistentVolumeReclaimPolicy"].AsString() == "Recycle") {
    errors.push_back(api::Forbidden(path.Child("persistentVolumeReclaimPolicy"),
                                    "may not be 'recycle' for a hostPath mount of '/'"));
  }
  if (const std::string_view name = spec["storageClassName"].AsString(); !name.empty()) {
    CheckSubdomain(name, path.Child("storageClassName"), errors);
  }
  if (!spec["volumeMode"].is_null()) {
    CheckOneOf(spec["volumeMode"], path.Child("volumeMode"), {"Block", "Filesystem"}, errors);
  }
  const json::Value attributes = spec["volumeAttributesClassName"];
  if (attributes.is_null()) return;
  if (attributes.AsString().empty()) {
    errors.push_back(
        api::Required(path.Child("volumeAttributesClassName"), "an empty string is disallowed"));
  } else {
    CheckSubdomain(attributes.AsString(), path.Child("volumeAttributesClassName"), errors);
  }
  if (spec["csi"].is_null()) {
    errors.push_back(api::Required(path.Child("csi"),
                                   "has to be specified when using volumeAttributesClassName"));
  }
}

void ValidatePersistentVolumeUpdate(const Context& ctx, json::Value object, json::Value old,
                                    FieldErrors& errors) {
  if (ctx.subresource == "status") return;
  ValidatePersistentVolume(ctx, object, errors);
  const json::Value before = SourcesOf(ctx.arena, old["spec"]);
  json::Value after = SourcesOf(ctx.arena, object["spec"]);
  const bool expands = !before["csi"].is_null() && !before["csi"].Has("controllerExpandSecretRef");
  if (expands && !after["csi"].is_null()) {
    after = json::RemovePath(ctx.arena, after, {"csi", "controllerExpandSecretRef"});
  }
  if (!(before == after)) {
    errors.push_back(api::Forbidden(
        FieldPath("spec", "persistentvolumesource"),
        base::StrCat("spec.persistentvolumesource is immutable after creation",
                     Difference(ctx, "io.k8s.api.core.v1.PersistentVolumeSource", before, after))));
  }
  CheckImmutable(object["spec"]["volumeMode"], old["spec"]["volumeMode"], FieldPath("volumeMode"),
                 errors);
  const json::Value affinity = old["spec"]["nodeAffinity"];
  if (!affinity.is_null() && !(affinity == object["spec"]["nodeAffinity"])) {
    errors.push_back(api::Invalid(FieldPath("nodeAffinity"), object["spec"]["nodeAffinity"],
                                  "field is immutable, except for updating from beta label to GA"));
  }
}

}  // namespace portcullis::registry
