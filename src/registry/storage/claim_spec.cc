// SPDX-License-Identifier: Apache-2.0

// The spec of a claim on a volume, alone or inside a pod (pkg/apis/core/validation).

#include "registry/pods/pod_parts.h"

namespace portcullis::registry {
namespace {

bool NamesApiGroup(json::Value spec) {
  return !spec["dataSource"]["apiGroup"].is_null() || !spec["dataSourceRef"]["apiGroup"].is_null();
}

void CheckDataSource(json::Value source, bool any_group, const FieldPath& path,
                     FieldErrors& errors) {
  if (source.is_null()) return;
  RequireField(source, "name", path, errors);
  RequireField(source, "kind", path, errors);
  const std::string_view group = source["apiGroup"].AsString();
  const std::string_view kind = source["kind"].AsString();
  if (group.empty() && kind != "PersistentVolumeClaim") {
    errors.push_back(api::Invalid(
        path, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"));
  }
  if (!group.empty() && !any_group) CheckSubdomain(group, path.Child("apiGroup"), errors);
  if (const std::string_view name = source["namespace"].AsString(); !name.empty()) {
    CheckDnsLabel(name, path.Child("namespace"), errors);
  }
}

void CheckDataSources(json::Value spec, bool any_group, const FieldPath& path,
                      FieldErrors& errors) {
  const json::Value source = spec["dataSource"];
  const json::Value reference = spec["dataSourceRef"];
  CheckDataSource(source, any_group, path.Child("dataSource"), errors);
  CheckDataSource(reference, any_group, path.Child("dataSourceRef"), errors);
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

void CheckClaimSpec(json::Value spec, const FieldPath& path, FieldErrors& errors,
                    json::Value before) {
  if (spec["accessModes"].empty()) {
    errors.push_back(
        api::Required(path.Child("accessModes"), "at least 1 access mode is required"));
  }
  CheckLabelSelector(spec["selector"], path.Child("selector"), errors);
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
  CheckDataSources(spec, NamesApiGroup(before), path, errors);
  if (const std::string_view name = spec["volumeAttributesClassName"].AsString(); !name.empty()) {
    CheckSubdomain(name, path.Child("volumeAttributesClassName"), errors);
  }
}

}  // namespace portcullis::registry
