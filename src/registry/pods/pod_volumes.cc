// Volumes of pods, and the sources they share with persistent volumes.

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "re2/re2.h"
#include "registry/pods/pod_parts.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kFileMode =
    "must be a number between 0 and 0777 (octal), both inclusive";
constexpr std::string_view kPartition = "must be between 0 and 255, inclusive";
constexpr std::string_view kValidFormat = "must be valid format";
constexpr std::string_view kIscsiStart = "must be valid format starting with iqn, eui, or naa";

// In the order in which they are looked at; the first one counts, others are refused.
struct Source {
  std::string_view name;
  std::string_view path = {};          // where its fields are reported, if not at its name
  std::string_view refused_path = {};  // where a second one is refused, if not at its name
};
constexpr std::array<Source, 30> kPodSources = {{{"emptyDir"},
                                                 {"hostPath"},
                                                 {"gitRepo"},
                                                 {"gcePersistentDisk", "persistentDisk"},
                                                 {"awsElasticBlockStore"},
                                                 {"secret"},
                                                 {"nfs"},
                                                 {"iscsi"},
                                                 {"glusterfs"},
                                                 {"flocker"},
                                                 {"persistentVolumeClaim"},
                                                 {"rbd"},
                                                 {"cinder"},
                                                 {"cephfs", {}, "cephFS"},
                                                 {"quobyte"},
                                                 {"downwardAPI", {}, "downwarAPI"},
                                                 {"fc"},
                                                 {"flexVolume"},
                                                 {"configMap"},
                                                 {"azureFile"},
                                                 {"vsphereVolume"},
                                                 {"photonPersistentDisk"},
                                                 {"portworxVolume"},
                                                 {"azureDisk"},
                                                 {"storageos"},
                                                 {"projected"},
                                                 {"scaleIO"},
                                                 {"csi"},
                                                 {"ephemeral"},
                                                 {"image"}}};

// Fields that a source must have, in the order of the errors.
struct RequiredFields {
  std::string_view source;
  std::array<std::string_view, 3> fields;
};
constexpr std::array<RequiredFields, 15> kRequired = {
    {{"gcePersistentDisk", {"pdName"}},
     {"awsElasticBlockStore", {"volumeID"}},
     {"glusterfs", {"endpoints", "path"}},
     {"persistentVolumeClaim", {"claimName"}},
     {"rbd", {"monitors", "image"}},
     {"cinder", {"volumeID"}},
     {"cephfs", {"monitors"}},
     {"flexVolume", {"driver"}},
     {"azureFile", {"secretName", "shareName"}},
     {"vsphereVolume", {"volumePath"}},
     {"photonPersistentDisk", {"pdID"}},
     {"portworxVolume", {"volumeID"}},
     {"scaleIO", {"gateway", "system", "volumeName"}},
     {"nfs", {"server", "path"}},
     {"gitRepo", {"repository"}}}};

bool IsSet(json::Value value) { return !value.is_null(); }

void CheckMode(json::Value mode, const FieldPath& path, FieldErrors& errors) {
  if (mode.is_int() && (mode.AsInt() < 0 || mode.AsInt() > 0777)) {
    errors.push_back(api::Invalid(path, mode.AsInt(), kFileMode));
  }
}

void CheckKeyToPath(json::Value item, const FieldPath& path, FieldErrors& errors) {
  RequireField(item, "key", path, errors);
  RequireField(item, "path", path, errors);
  CheckLocalPath(item["path"].AsString(), path.Child("path"), errors);
  CheckMode(item["mode"], path.Child("mode"), errors);
}

void CheckKeyToPaths(json::Value items, const FieldPath& path, FieldErrors& errors) {
  std::size_t index = 0;
  for (const json::Value& item : items.elements()) {
    CheckKeyToPath(item, path.Index(index++), errors);
  }
}

void CheckDownwardFile(json::Value file, const FieldPath& path, FieldErrors& errors) {
  RequireField(file, "path", path, errors);
  CheckLocalPath(file["path"].AsString(), path.Child("path"), errors);
  if (IsSet(file["fieldRef"])) {
    CheckFieldRef(file["fieldRef"], true, path.Child("fieldRef"), errors);
    if (IsSet(file["resourceFieldRef"])) {
      errors.push_back(api::Invalid(
          path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"));
    }
  } else if (IsSet(file["resourceFieldRef"])) {
    CheckResourceFieldRef(file["resourceFieldRef"], true, path.Child("resourceFieldRef"), errors);
  } else {
    errors.push_back(api::Required(path, "one of fieldRef and resourceFieldRef is required"));
  }
  CheckMode(file["mode"], path.Child("mode"), errors);
}

// Places in a projected volume that are taken already.
class Places {
 public:
  Places(const FieldPath& path, FieldErrors& errors) : path_(path), errors_(errors) {}
  void Take(std::string_view place, std::string_view blamed) {
    if (place.empty() || taken_.insert(place).second) return;
    errors_.push_back(api::Invalid(path_, blamed, "conflicting duplicate paths"));
  }

 private:
  const FieldPath& path_;
  FieldErrors& errors_;
  std::set<std::string_view> taken_;
};

void CheckProjectedToken(json::Value token, const FieldPath& path, const FieldPath& volume,
                         FieldErrors& errors) {
  const std::int64_t seconds = token["expirationSeconds"].AsInt();
  if (seconds < 600) {
    errors.push_back(api::Invalid(path.Child("expirationSeconds"), seconds,
                                  "may not specify a duration less than 10 minutes"));
  }
  if (seconds > (std::int64_t{1} << 32)) {
    errors.push_back(api::Invalid(path.Child("expirationSeconds"), seconds,
                                  "may not specify a duration larger than 2^32 seconds"));
  }
  if (token["path"].AsString().empty()) {
    errors.push_back(api::Required(volume.Child("path"), ""));
  } else {
    CheckLocalPath(token["path"].AsString(), volume.Child("path"), errors);
  }
}

void CheckProjectedBundle(json::Value bundle, const FieldPath& path, FieldErrors& errors) {
  const bool by_name = IsSet(bundle["name"]);
  const bool by_signer = IsSet(bundle["signerName"]);
  if (by_name && by_signer) {
    errors.push_back(api::Invalid(path, bundle, "only one of name and signerName may be used"));
  } else if (by_name) {
    if (bundle["name"].AsString().empty()) {
      errors.push_back(api::Required(path.Child("name"), "must be a valid object name"));
    }
    if (IsSet(bundle["labelSelector"])) {
      errors.push_back(api::Invalid(path.Child("labelSelector"), bundle["labelSelector"],
                                    "labelSelector must be unset if name is specified"));
    }
  } else if (by_signer) {
    if (bundle["signerName"].AsString().empty()) {
      errors.push_back(api::Required(path.Child("signerName"), "must be a valid signer name"));
    }
  } else {
    errors.push_back(api::Required(path, "either name or signerName must be specified"));
  }
  if (bundle["path"].AsString().empty()) errors.push_back(api::Required(path.Child("path"), ""));
  CheckLocalPath(bundle["path"].AsString(), path.Child("path"), errors);
}

void CheckProjected(json::Value projected, const FieldPath& path, FieldErrors& errors) {
  CheckMode(projected["defaultMode"], path.Child("defaultMode"), errors);
  Places places(path, errors);
  std::size_t index = 0;
  for (const json::Value& source : projected["sources"].elements()) {
    const FieldPath at = path.Child("sources").Index(index++);
    std::size_t sources = 0;
    for (const std::string_view kind : {"secret", "configMap"}) {
      if (!IsSet(source[kind])) continue;
      ++sources;
      RequireField(source[kind], "name", at.Child(kind), errors);
      std::size_t item = 0;
      for (const json::Value& entry : source[kind]["items"].elements()) {
        CheckKeyToPath(entry, at.Child(kind).Child("items").Index(item++), errors);
        places.Take(entry["path"].AsString(), source[kind]["name"].AsString());
      }
    }
    if (IsSet(source["downwardAPI"])) {
      ++sources;
      for (const json::Value& file : source["downwardAPI"]["items"].elements()) {
        CheckDownwardFile(file, at.Child("downwardAPI"), errors);
        places.Take(file["path"].AsString(), file["path"].AsString());
      }
    }
    if (IsSet(source["serviceAccountToken"])) {
      ++sources;
      CheckProjectedToken(source["serviceAccountToken"], at.Child("serviceAccountToken"), path,
                          errors);
    }
    if (IsSet(source["clusterTrustBundle"])) {
      ++sources;
      CheckProjectedBundle(source["clusterTrustBundle"], at.Child("clusterTrustBundle"), errors);
      const std::string_view place = source["clusterTrustBundle"]["path"].AsString();
      places.Take(place, place);
    }
    if (IsSet(source["podCertificate"])) ++sources;
    if (sources > 1) {
      errors.push_back(api::Forbidden(at, "may not specify more than 1 volume type per source"));
    }
  }
}

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
    errors.push_back(api::Invalid(path.Child("lun"), lun, kPartition));
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
    errors.push_back(api::Invalid(path.Child("lun"), source["lun"].AsInt(), kPartition));
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
  for (const json::Member* option : SortedMembers(options)) {
    const auto parts = base::Cut(option->name(), "/");
    const std::string space =
        "." + base::ToLower(parts ? parts->first : std::string_view(option->name()));
    if (space.ends_with(".kubernetes.io") || space.ends_with(".k8s.io")) {
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

void CheckImageVolume(json::Value source, const FieldPath& path, FieldErrors& errors) {
  RequireField(source, "reference", path, errors);
  const json::Value policy = source["pullPolicy"];
  if (policy.AsString().empty()) {
    errors.push_back(api::Required(path.Child("pullPolicy"), ""));
  } else {
    CheckOneOf(policy, path.Child("pullPolicy"), {"Always", "IfNotPresent", "Never"}, errors);
  }
}

// Metadata of a template may hold labels and annotations only.
void CheckTemplateMetadata(json::Value metadata, const FieldPath& path, FieldErrors& errors) {
  CheckAnnotations(metadata["annotations"], path.Child("annotations"), errors);
  CheckLabels(metadata["labels"], path.Child("labels"), errors);
  for (const json::Member& field : metadata.members()) {
    if (field.name() == "annotations" || field.name() == "labels") continue;
    errors.push_back(api::Forbidden(path.Child(field.name()), "cannot be set"));
  }
}

void CheckVolumeSource(json::Value volume, json::Value metadata, const FieldPath& path,
                       FieldErrors& errors) {
  bool found = false;
  for (const Source& source : kPodSources) {
    const json::Value held = volume[source.name];
    if (!IsSet(held)) continue;
    if (found) {
      const std::string_view place =
          source.refused_path.empty() ? source.name : source.refused_path;
      errors.push_back(
          api::Forbidden(path.Child(place), "may not specify more than 1 volume type"));
      continue;
    }
    found = true;
    const FieldPath at = path.Child(source.path.empty() ? source.name : source.path);
    if (source.name == "emptyDir") {
      if (QuantityOf(held["sizeLimit"]).Sign() < 0) {
        errors.push_back(api::Forbidden(at.Child("sizeLimit"),
                                        "SizeLimit field must be a valid resource quantity"));
      }
    } else if (source.name == "secret" || source.name == "configMap") {
      RequireField(held, source.name == "secret" ? "secretName" : "name", at, errors);
      CheckMode(held["defaultMode"], at.Child("defaultMode"), errors);
      CheckKeyToPaths(held["items"], at.Child("items"), errors);
    } else if (source.name == "downwardAPI") {
      CheckMode(held["defaultMode"], at.Child("defaultMode"), errors);
      for (const json::Value& file : held["items"].elements()) CheckDownwardFile(file, at, errors);
    } else if (source.name == "projected") {
      CheckProjected(held, at, errors);
    } else if (source.name == "image") {
      CheckImageVolume(held, at, errors);
    } else if (source.name == "ephemeral") {
      const json::Value claim = held["volumeClaimTemplate"];
      if (!IsSet(claim)) {
        errors.push_back(api::Required(at.Child("volumeClaimTemplate"), ""));
        continue;
      }
      const FieldPath claim_path = at.Child("volumeClaimTemplate");
      CheckTemplateMetadata(claim["metadata"], claim_path.Child("metadata"), errors);
      CheckClaimSpec(claim["spec"], claim_path.Child("spec"), errors);
      const std::string_view pod = metadata["name"].AsString();
      const std::string_view name = volume["name"].AsString();
      if (pod.empty() || name.empty()) continue;
      const std::string claim_name = base::StrCat(pod, "-", name);
      for (const std::string& text : api::IsDns1123Subdomain(claim_name)) {
        errors.push_back(api::Invalid(path.Child("name"), name,
                                      base::StrCat("PVC name \"", claim_name, "\": ", text)));
      }
    } else {
      CheckVolumeField(held, source.name, at, false, errors);
    }
  }
  if (!found) errors.push_back(api::Required(path, "must specify a volume type"));
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

void CheckVolumeField(json::Value source, std::string_view name, const FieldPath& path,
                      bool persistent, FieldErrors& errors) {
  for (const RequiredFields& row : kRequired) {
    if (row.source != name) continue;
    for (const std::string_view field : row.fields) {
      if (!field.empty()) RequireField(source, field, path, errors);
    }
  }
  if (name == "hostPath") {
    CheckHostPath(source, path, errors);
  } else if (name == "gitRepo") {
    CheckDescendingPath(source["directory"].AsString(), path.Child("directory"), errors);
  } else if (name == "gcePersistentDisk" || name == "awsElasticBlockStore") {
    const std::int64_t partition = source["partition"].AsInt();
    if (partition < 0 || partition > 255) {
      errors.push_back(api::Invalid(path.Child("partition"), partition, kPartition));
    }
  } else if (name == "nfs") {
    if (!source["path"].AsString().starts_with("/")) {
      errors.push_back(
          api::Invalid(path.Child("path"), source["path"].AsString(), "must be an absolute path"));
    }
  } else if (name == "iscsi") {
    CheckIscsi(source, path, persistent, errors);
  } else if (name == "fc") {
    CheckFibreChannel(source, path, errors);
  } else if (name == "flocker") {
    CheckFlocker(source, path, errors);
  } else if (name == "quobyte") {
    CheckQuobyte(source, path, errors);
  } else if (name == "cinder") {
    if (!IsSet(source["secretRef"])) return;
    RequireField(source["secretRef"], "name", path.Child("secretRef"), errors);
    if (persistent) {
      RequireField(source["secretRef"], "namespace", path.Child("secretRef"), errors);
    }
  } else if (name == "flexVolume") {
    CheckFlexOptions(source["options"], path.Child("options"), errors);
  } else if (name == "azureFile") {
    if (persistent && IsSet(source["secretNamespace"])) {
      RequireField(source, "secretNamespace", path, errors);
    }
  } else if (name == "azureDisk") {
    CheckAzureDisk(source, path, errors);
  } else if (name == "storageos") {
    CheckStorageOs(source, path, persistent, errors);
  } else if (name == "csi") {
    CheckCsi(source, path, persistent, errors);
  } else if (name == "local") {
    if (RequireField(source, "path", path, errors)) {
      CheckNoBacksteps(source["path"].AsString(), path.Child("path"), errors);
    }
  }
}

void CheckVolumes(PodContext& pod, json::Value metadata, const FieldPath& path,
                  FieldErrors& errors) {
  const json::Value volumes = pod.spec["volumes"];
  std::set<std::string> created;  // claims of ephemeral volumes
  const std::string_view pod_name = metadata["name"].AsString();
  for (const json::Value& volume : volumes.elements()) {
    if (!pod_name.empty() && IsSet(volume["ephemeral"])) {
      created.insert(base::StrCat(pod_name, "-", volume["name"].AsString()));
    }
  }
  std::size_t index = 0;
  for (const json::Value& volume : volumes.elements()) {
    const FieldPath at = path.Index(index++);
    const std::string_view name = volume["name"].AsString();
    const std::size_t before = errors.size();
    CheckVolumeSource(volume, metadata, at, errors);
    if (name.empty()) {
      errors.push_back(api::Required(at.Child("name"), ""));
    } else {
      CheckDnsLabel(name, at.Child("name"), errors);
    }
    if (pod.volumes.contains(name)) errors.push_back(api::Duplicate(at.Child("name"), name));
    if (errors.size() == before) pod.volumes.emplace(name, volume);
    const std::string_view claim = volume["persistentVolumeClaim"]["claimName"].AsString();
    if (created.contains(std::string(claim))) {
      errors.push_back(
          api::Invalid(at.Child("persistentVolumeClaim", "claimName"), claim,
                       "must not reference a PVC that gets created for an ephemeral volume"));
    }
  }
}

}  // namespace portcullis::registry
