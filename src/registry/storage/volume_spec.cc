// SPDX-License-Identifier: Apache-2.0

// The spec of a volume (pkg/apis/core/validation, ValidatePersistentVolumeSpec).

#include "base/strings.h"
#include "json/sorted.h"
#include "registry/pods/pod_parts.h"
#include "registry/storage/volume_checks.h"

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
  for (const json::Member* member : json::MembersByName(map)) {
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
  for (const json::Member* entry : json::MembersByName(capacity)) {
    const api::Quantity amount = QuantityOf(entry->value);
    CheckNotNegative(amount, path.Key(entry->name()), errors);
    if (amount.Sign() <= 0) {
      errors.push_back(
          api::Invalid(path.Key(entry->name()), amount.ToString(), "must be greater than zero"));
    }
  }
}

// What stands in the place of a volume has no life of its own.
void Forbid(json::Value spec, std::string_view field, const FieldPath& path, FieldErrors& errors) {
  if (spec[field].is_null() || (field == "capacity" && spec[field].empty())) return;
  errors.push_back(
      api::Forbidden(path.Child(field), "may not be specified in the context of inline volumes"));
}

void CheckVolumeAffinity(json::Value affinity, const FieldPath& path, FieldErrors& errors) {
  if (affinity.is_null()) return;
  const FieldPath required = path.Child("required");
  if (affinity["required"].is_null()) {
    errors.push_back(api::Required(required, "must specify required node constraints"));
  } else {
    CheckNodeSelector(affinity["required"], required, errors);
  }
}

void CheckAttributesClass(json::Value spec, const FieldPath& path, FieldErrors& errors) {
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

// What the two differ in before the sources, and behind them.
void CheckBeforeSources(json::Value spec, bool is_inline, const FieldPath& path,
                        FieldErrors& errors) {
  const json::Value policy = spec["persistentVolumeReclaimPolicy"];
  const FieldPath policy_path = path.Child("persistentVolumeReclaimPolicy");
  if (!is_inline) {
    CheckCapacity(spec["capacity"], path.Child("capacity"), errors);
    if (!policy.AsString().empty()) {
      CheckOneOf(policy, policy_path, {"Delete", "Recycle", "Retain"}, errors);
    }
    CheckVolumeAffinity(spec["nodeAffinity"], path.Child("nodeAffinity"), errors);
    return;
  }
  if (!policy.AsString().empty() && policy.AsString() != "Retain") {
    errors.push_back(
        api::Forbidden(policy_path, "may only be Retain in the context of inline volumes"));
  }
  Forbid(spec, "nodeAffinity", path, errors);
}

void CheckBehindSources(json::Value spec, bool is_inline, const FieldPath& path,
                        FieldErrors& errors) {
  const json::Value mode = spec["volumeMode"];
  const std::string_view storage_class = spec["storageClassName"].AsString();
  if (!is_inline) {
    if (!storage_class.empty()) {
      CheckSubdomain(storage_class, path.Child("storageClassName"), errors);
    }
    if (!mode.is_null()) {
      CheckOneOf(mode, path.Child("volumeMode"), {"Block", "Filesystem"}, errors);
    }
    return CheckAttributesClass(spec, path, errors);
  }
  if (!storage_class.empty()) Forbid(spec, "storageClassName", path, errors);
  if (!mode.is_null() && mode.AsString() != "Filesystem") {
    errors.push_back(api::Forbidden(
        path.Child("volumeMode"),
        "may not specify volumeMode other than Filesystem in the context of inline volumes"));
  }
}

}  // namespace

std::span<const std::string_view> VolumeSources() { return kVolumeSources; }

void CheckVolumeSpec(json::Value spec, VolumeSpecOf of, const FieldPath& path,
                     FieldErrors& errors) {
  const bool is_inline = of == VolumeSpecOf::kAttachment;
  if (is_inline) {
    Forbid(spec, "claimRef", path, errors);
    Forbid(spec, "capacity", path, errors);
    if (spec["csi"].is_null()) {
      errors.push_back(
          api::Required(path.Child("csi"), "has to be specified in the context of inline volumes"));
    }
  }
  if (spec["accessModes"].empty()) errors.push_back(api::Required(path.Child("accessModes"), ""));
  CheckAccessModes(spec["accessModes"], path.Child("accessModes"), errors);
  CheckBeforeSources(spec, is_inline, path, errors);
  CheckVolumeSources(spec, !is_inline && !spec["nodeAffinity"].is_null(), path, errors);
  if (spec["hostPath"]["path"].AsString() == "/" &&
      spec["persistentVolumeReclaimPolicy"].AsString() == "Recycle") {
    errors.push_back(api::Forbidden(path.Child("persistentVolumeReclaimPolicy"),
                                    "may not be 'recycle' for a hostPath mount of '/'"));
  }
  CheckBehindSources(spec, is_inline, path, errors);
}

void CheckAttributesClassStays(const Context& ctx, json::Value object, json::Value old,
                               FieldErrors& errors) {
  constexpr std::string_view kField = "volumeAttributesClassName";
  if (ctx.release->GateEnabled("VolumeAttributesClass")) return;
  if (object["spec"][kField] == old["spec"][kField]) return;
  errors.push_back(api::Forbidden(
      FieldPath("spec", kField),
      "update is forbidden when the VolumeAttributesClass feature gate is disabled"));
}

}  // namespace portcullis::registry
