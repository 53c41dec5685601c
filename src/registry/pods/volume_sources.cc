// SPDX-License-Identifier: Apache-2.0

// The sources that volumes of pods and persistent volumes share (pkg/apis/core/validation).

#include <algorithm>
#include <array>

#include "api/domain.h"
#include "base/strings.h"
#include "json/sorted.h"
#include "re2/re2.h"
#include "registry/pods/pod_parts.h"

namespace portcullis::registry {
namespace {

// Kubernetes takes 0, too.
constexpr std::string_view kPartition = "must be between 1 and 255, inclusive";
constexpr std::string_view kLun = "must be between 0 and 255, inclusive";
constexpr std::string_view kValidFormat = "must be valid format";
constexpr std::string_view kIscsiStart = "must be valid format starting with iqn, eui, or naa";

void CheckIscsiName(std::string_view name, const FieldPath& path, std::string_view wrong_start,
                    FieldErrors& errors) {
  static constexpr const char* kIqn = R"(iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$)";
  const bool known = name.starts_with("iqn") || name.starts_with("eui") || name.starts_with("naa");
  if (!known) {
    errors.push_back(api::Invalid(path, name, wrong_start));
    return;
  }
  const bool good = name.starts_with("iqn")   ? re2::RE2::PartialMatch(name, kIqn)
                    : name.starts_with("eui") ? re2::RE2::FullMatch(name, "eui\\.[[:xdigit:]]{16}")
                                              : re2::RE2::FullMatch(name, "naa\\.[[:xdigit:]]{32}");
  if (!good) errors.push_back(api::Invalid(path, name, kValidFormat));
}

void CheckIscsi(json::Value source, const FieldPath& path, bool persistent, FieldErrors& errors) {
  RequireField(source, "targetPortal", path, errors);
  if (RequireField(source, "iqn", path, errors)) {
    CheckIscsiName(source["iqn"].AsString(), path.Child("iqn"),
                   persistent ? kValidFormat : kIscsiStart, errors);
  }
  if (const std::int64_t lun = source["lun"].AsInt(); lun < 0 || lun > 255) {
    errors.push_back(api::Invalid(path.Child("lun"), lun, kLun));
  }
  const bool chap = source["chapAuthDiscovery"].AsBool() || source["chapAuthSession"].AsBool();
  if (chap && !IsSet(source["secretRef"])) {
    errors.push_back(api::Required(path.Child("secretRef"), ""));
  }
  if (persistent && IsSet(source["secretRef"])) {
    RequireField(source["secretRef"], "name", path.Child("secretRef"), errors);
  }
  if (IsSet(source["initiatorName"])) {
    CheckIscsiName(source["initiatorName"].AsString(), path.Child("initiatorname"),
                   persistent ? kValidFormat : kIscsiStart, errors);
  }
}

void CheckFibreChannel(json::Value source, const FieldPath& path, FieldErrors& errors) {
  const bool by_name = !source["targetWWNs"].empty();
  const bool by_id = !source["wwids"].empty();
  if (!by_name && !by_id) {
    errors.push_back(api::Required(path.Child("targetWWNs"),
                                   "must specify either targetWWNs or wwids, but not both"));
  }
  if (by_name && by_id) {
    errors.push_back(api::Invalid(path.Child("targetWWNs"), source["targetWWNs"],
                                  "targetWWNs and wwids can not be specified simultaneously"));
  }
  if (!by_name) return;
  if (!IsSet(source["lun"])) {
    errors.push_back(
        api::Required(path.Child("lun"), "lun is required if targetWWNs is specified"));
  } else if (source["lun"].AsInt() < 0 || source["lun"].AsInt() > 255) {
    errors.push_back(api::Invalid(path.Child("lun"), source["lun"].AsInt(), kLun));
  }
}

void CheckFlocker(json::Value source, const FieldPath& path, FieldErrors& errors) {
  const std::string_view name = source["datasetName"].AsString();
  const bool has_uuid = !source["datasetUUID"].AsString().empty();
  if (name.empty() && !has_uuid) {
    errors.push_back(api::Required(path, "one of datasetName and datasetUUID is required"));
  }
  if (!name.empty() && has_uuid) {
    errors.push_back(api::Invalid(
        path, "resource", "datasetName and datasetUUID can not be specified simultaneously"));
  }
  if (name.find('/') != std::string_view::npos) {
    errors.push_back(api::Invalid(path.Child("datasetName"), name, "must not contain '/'"));
  }
}

void CheckQuobyte(json::Value source, const FieldPath& path, FieldErrors& errors) {
  constexpr std::string_view kPairs =
      "must be a host:port pair or multiple pairs separated by commas";
  const std::string_view registry = source["registry"].AsString();
  if (registry.empty()) {
    errors.push_back(api::Required(path.Child("registry"), kPairs));
  } else if (source["tenant"].AsString().size() >= 65) {
    errors.push_back(api::Required(path.Child("tenant"),
                                   "must be a UUID and may not exceed a length of 64 characters"));
  } else {
    for (const std::string_view pair : base::Split(registry, ',')) {
      if (pair.find(':') == std::string_view::npos) {
        errors.push_back(api::Invalid(path.Child("registry"), registry, kPairs));
      }
    }
  }
  RequireField(source, "volume", path, errors);
}

void CheckAzureDisk(json::Value source, const FieldPath& path, FieldErrors& errors) {
  RequireField(source, "diskName", path, errors);
  RequireField(source, "diskURI", path, errors);
  if (IsSet(source["cachingMode"])) {
    CheckOneOf(source["cachingMode"], path.Child("cachingMode"), {"None", "ReadOnly", "ReadWrite"},
               errors);
  }
  if (!IsSet(source["kind"])) return;
  CheckOneOf(source["kind"], path.Child("kind"), {"Dedicated", "Managed", "Shared"}, errors);
  const std::string_view uri = source["diskURI"].AsString();
  const bool managed = source["kind"].AsString() == "Managed";
  if (managed && !uri.starts_with("/subscriptions/")) {
    errors.push_back(api::NotSupported(
        path.Child("diskURI"), uri,
        {"/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/"
         "{disk-id}"}));
  } else if (!managed && !uri.starts_with("https://")) {
    errors.push_back(api::NotSupported(
        path.Child("diskURI"), uri,
        {"https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"}));
  }
}

void CheckStorageOs(json::Value source, const FieldPath& path, bool persistent,
                    FieldErrors& errors) {
  if (RequireField(source, "volumeName", path, errors)) {
    CheckDnsLabel(source["volumeName"].AsString(), path.Child("volumeName"), errors);
  }
  if (const std::string_view name = source["volumeNamespace"].AsString(); !name.empty()) {
    CheckDnsLabel(name, path.Child("volumeNamespace"), errors);
  }
  if (!IsSet(source["secretRef"])) return;
  RequireField(source["secretRef"], "name", path.Child("secretRef"), errors);
  if (persistent) {
    RequireField(source["secretRef"], "namespace", path.Child("secretRef"), errors);
  }
}

void CheckFlexOptions(json::Value options, const FieldPath& path, FieldErrors& errors) {
  for (const json::Member* option : json::MembersByName(options)) {
    const auto parts = base::Cut(option->name(), "/");
    if (api::IsInDomainOfKubernetes(base::ToLower(parts ? parts->first : option->name()))) {
      errors.push_back(api::Invalid(path.Key(option->name()), option->name(),
                                    "kubernetes.io and k8s.io namespaces are reserved"));
    }
  }
}

// A PV's reference to a secret, which has a namespace.
void CheckSecretReference(json::Value source, std::string_view field, const FieldPath& path,
                          FieldErrors& errors) {
  const json::Value reference = source[field];
  if (!IsSet(reference)) return;
  const FieldPath at = path.Child(field);
  if (RequireField(reference, "name", at, errors)) {
    CheckSubdomain(reference["name"].AsString(), at.Child("name"), errors);
  }
  if (RequireField(reference, "namespace", at, errors)) {
    CheckDnsLabel(reference["namespace"].AsString(), at.Child("namespace"), errors);
  }
}

void CheckCsi(json::Value source, const FieldPath& path, bool persistent, FieldErrors& errors) {
  CheckCsiDriverName(source["driver"].AsString(), path.Child("driver"), errors);
  if (persistent) {
    RequireField(source, "volumeHandle", path, errors);
    for (const std::string_view field : {"controllerPublishSecretRef", "controllerExpandSecretRef",
                                         "nodePublishSecretRef", "nodeExpandSecretRef"}) {
      CheckSecretReference(source, field, path, errors);
    }
    return;
  }
  const json::Value secret = source["nodePublishSecretRef"];
  if (!IsSet(secret)) return;
  if (RequireField(secret, "name", path.Child("nodePublishSecretRef"), errors)) {
    CheckSubdomain(secret["name"].AsString(), path.Child("name"), errors);
  }
}

}  // namespace

void CheckNoBacksteps(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  for (const std::string_view part : base::Split(text, '/')) {
    if (part != "..") continue;
    errors.push_back(api::Invalid(path, text, "must not contain '..'"));
    return;
  }
}

void CheckDescendingPath(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  if (text.starts_with("/")) {
    errors.push_back(api::Invalid(path, text, "must be a relative path"));
  }
  CheckNoBacksteps(text, path, errors);
}

void CheckLocalPath(std::string_view text, const FieldPath& path, FieldErrors& errors) {
  CheckDescendingPath(text, path, errors);
  if (text.starts_with("..") && !text.starts_with("../")) {
    errors.push_back(api::Invalid(path, text, "must not start with '..'"));
  }
}

void CheckCsiDriverName(std::string_view name, const FieldPath& path, FieldErrors& errors) {
  if (name.empty()) {
    errors.push_back(api::Required(path, ""));
    return;
  }
  if (name.size() > 63) errors.push_back(api::TooLong(path, 63));
  AddInvalid(path, name, api::IsDns1123Subdomain(base::ToLower(name)), errors);
}

void CheckHostPath(json::Value source, const FieldPath& path, FieldErrors& errors) {
  if (!RequireField(source, "path", path, errors)) return;
  CheckNoBacksteps(source["path"].AsString(), path.Child("path"), errors);
  if (IsSet(source["type"])) {
    CheckOneOf(source["type"], path.Child("type"),
               {"", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File",
                "FileOrCreate", "Socket"},
               errors);
  }
}

namespace {

// What is checked of a source besides the fields it must have. `persistent`: of a persistent volume.
using SourceCheck = void (*)(json::Value source, const FieldPath& path, bool persistent,
                             FieldErrors& errors);

template <void (*kCheck)(json::Value, const FieldPath&, FieldErrors&)>
void InBoth(json::Value source, const FieldPath& path, bool, FieldErrors& errors) {
  kCheck(source, path, errors);
}

void CheckGitRepo(json::Value source, const FieldPath& path, FieldErrors& errors) {
  CheckDescendingPath(source["directory"].AsString(), path.Child("directory"), errors);
}

void CheckDiskPartition(json::Value source, const FieldPath& path, FieldErrors& errors) {
  const std::int64_t partition = source["partition"].AsInt();
  if (partition >= 0 && partition <= 255) return;
  errors.push_back(api::Invalid(path.Child("partition"), partition, kPartition));
}

void CheckNfs(json::Value source, const FieldPath& path, FieldErrors& errors) {
  const std::string_view text = source["path"].AsString();
  if (text.starts_with("/")) return;
  errors.push_back(api::Invalid(path.Child("path"), text, "must be an absolute path"));
}

void CheckCinder(json::Value source, const FieldPath& path, bool persistent, FieldErrors& errors) {
  const json::Value secret = source["secretRef"];
  if (!IsSet(secret)) return;
  RequireField(secret, "name", path.Child("secretRef"), errors);
  if (persistent) RequireField(secret, "namespace", path.Child("secretRef"), errors);
}

// The namespace of the endpoints; only a persistent volume has one.
void CheckGlusterfs(json::Value source, const FieldPath& path, bool persistent,
                    FieldErrors& errors) {
  const json::Value name = source["endpointsNamespace"];
  if (!persistent || !IsSet(name)) return;
  const FieldPath at = path.Child("endpointsNamespace");
  if (!name.AsString().empty()) return CheckDnsLabel(name.AsString(), at, errors);
  errors.push_back(
      api::Invalid(at, "", "if the endpointnamespace is set, it must be a valid namespace name"));
}

void CheckFlexVolume(json::Value source, const FieldPath& path, FieldErrors& errors) {
  CheckFlexOptions(source["options"], path.Child("options"), errors);
}

void CheckAzureFile(json::Value source, const FieldPath& path, bool persistent,
                    FieldErrors& errors) {
  if (!persistent || !IsSet(source["secretNamespace"])) return;
  RequireField(source, "secretNamespace", path, errors);
}

void CheckLocal(json::Value source, const FieldPath& path, FieldErrors& errors) {
  if (!RequireField(source, "path", path, errors)) return;
  CheckNoBacksteps(source["path"].AsString(), path.Child("path"), errors);
}

// A row for each source with something to check; the required fields in the order of the errors.
struct SharedSource {
  std::string_view name;
  std::array<std::string_view, 3> required = {};
  SourceCheck check = nullptr;
};
constexpr SharedSource kSharedSources[] = {
    {"gcePersistentDisk", {"pdName"}, &InBoth<&CheckDiskPartition>},
    {"awsElasticBlockStore", {"volumeID"}, &InBoth<&CheckDiskPartition>},
    {"azureDisk", {}, &InBoth<&CheckAzureDisk>},
    {"azureFile", {"secretName", "shareName"}, &CheckAzureFile},
    {"cephfs", {"monitors"}},
    {"cinder", {"volumeID"}, &CheckCinder},
    {"csi", {}, &CheckCsi},
    {"fc", {}, &InBoth<&CheckFibreChannel>},
    {"flexVolume", {"driver"}, &InBoth<&CheckFlexVolume>},
    {"flocker", {}, &InBoth<&CheckFlocker>},
    {"gitRepo", {"repository"}, &InBoth<&CheckGitRepo>},
    {"glusterfs", {"endpoints", "path"}, &CheckGlusterfs},
    {"hostPath", {}, &InBoth<&CheckHostPath>},
    {"iscsi", {}, &CheckIscsi},
    {"local", {}, &InBoth<&CheckLocal>},
    {"nfs", {"server", "path"}, &InBoth<&CheckNfs>},
    {"persistentVolumeClaim", {"claimName"}},
    {"photonPersistentDisk", {"pdID"}},
    {"portworxVolume", {"volumeID"}},
    {"quobyte", {}, &InBoth<&CheckQuobyte>},
    {"rbd", {"monitors", "image"}},
    {"scaleIO", {"gateway", "system", "volumeName"}},
    {"storageos", {}, &CheckStorageOs},
    {"vsphereVolume", {"volumePath"}}};

}  // namespace

void CheckVolumeField(json::Value source, std::string_view name, const FieldPath& path,
                      bool persistent, FieldErrors& errors) {
  for (const SharedSource& row : kSharedSources) {
    if (row.name != name) continue;
    for (const std::string_view field : row.required) {
      if (!field.empty()) RequireField(source, field, path, errors);
    }
    if (row.check != nullptr) row.check(source, path, persistent, errors);
  }
}

}  // namespace portcullis::registry
