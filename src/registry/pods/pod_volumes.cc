// SPDX-License-Identifier: Apache-2.0

// Volumes of pods (pkg/apis/core/validation).

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "api/annotations.h"
#include "api/domain.h"
#include "base/strings.h"
#include "json/sorted.h"
#include "registry/certificates/signer_name.h"
#include "registry/pods/pod_parts.h"
#include "registry/validation/sent_values.h"

namespace portcullis::registry {
namespace {

constexpr std::string_view kFileMode =
    "must be a number between 0 and 0777 (octal), both inclusive";

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
    const auto text = [&](std::string_view field) { return Quoted(bundle[field].AsString()); };
    const auto json = [&](std::string_view field) { return Json(bundle[field]); };
    errors.push_back(
        api::Invalid(path,
                     api::BadValue::Raw(StructJson({{"Name", text("name")},
                                                    {"SignerName", text("signerName")},
                                                    {"LabelSelector", json("labelSelector")},
                                                    {"Optional", json("optional")},
                                                    {"Path", text("path")}})),
                     "only one of name and signerName may be used"));
  } else if (by_name) {
    const std::string_view name = bundle["name"].AsString();
    if (name.empty()) {
      errors.push_back(api::Required(path.Child("name"), "must be a valid object name"));
    }
    const std::size_t colon = name.rfind(':');
    const std::string signer =
        colon == std::string_view::npos ? "" : base::ReplaceAll(name.substr(0, colon), ":", "/");
    for (const std::string& text : IsTrustBundleName(name, signer)) {
      errors.push_back(api::Invalid(path.Child("name"), name,
                                    base::StrCat("not a valid clustertrustbundlename: ", text)));
    }
    if (IsSet(bundle["labelSelector"])) {
      errors.push_back(api::Invalid(path.Child("labelSelector"), bundle["labelSelector"],
                                    "labelSelector must be unset if name is specified"));
    }
  } else if (by_signer) {
    if (bundle["signerName"].AsString().empty()) {
      errors.push_back(api::Required(path.Child("signerName"), "must be a valid signer name"));
    }
    CheckSignerName(bundle["signerName"].AsString(), path.Child("signerName"), errors);
    CheckLabelSelector(bundle["labelSelector"], path.Child("labelSelector"), errors);
  } else {
    errors.push_back(api::Required(path, "either name or signerName must be specified"));
  }
  if (bundle["path"].AsString().empty()) errors.push_back(api::Required(path.Child("path"), ""));
  CheckLocalPath(bundle["path"].AsString(), path.Child("path"), errors);
}

void CheckLifetime(json::Value seconds, std::string_view signer, const FieldPath& path,
                   FieldErrors& errors) {
  constexpr std::int64_t kDay = 24 * 60 * 60;
  if (seconds.is_null()) return;
  if (seconds.AsInt() < 3600) {
    errors.push_back(
        api::Invalid(path, seconds, "if provided, maxExpirationSeconds must be >= 3600"));
  }
  const std::string_view host = signer.substr(0, signer.find('/'));
  const std::int64_t most = api::IsInDomain(host, "kubernetes.io") ? kDay : 91 * kDay;
  if (seconds.AsInt() > most) {
    errors.push_back(api::Invalid(
        path, seconds,
        base::StrCat("if provided, maxExpirationSeconds must be <= ", std::to_string(most))));
  }
}

void CheckProjectedCertificate(json::Value certificate, const FieldPath& path, Places& places,
                               FieldErrors& errors) {
  const std::string_view signer = certificate["signerName"].AsString();
  CheckSignerName(signer, path.Child("signerName"), errors);
  CheckUserAnnotations(certificate["userAnnotations"], path.Child("userAnnotations"), errors);
  CheckOneOf(certificate["keyType"], path.Child("keyType"),
             {"RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"}, errors,
             GoType::kString);
  CheckLifetime(certificate["maxExpirationSeconds"], signer, path.Child("maxExpirationSeconds"),
                errors);
  bool has_place = false;
  for (const std::string_view field : {"credentialBundlePath", "keyPath", "certificateChainPath"}) {
    const std::string_view place = certificate[field].AsString();
    if (place.empty()) continue;
    has_place = true;
    CheckLocalPath(place, path.Child(field), errors);
    places.Take(place, place);
  }
  if (has_place) return;
  errors.push_back(api::Required(
      path, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"));
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
    if (IsSet(source["podCertificate"])) {
      ++sources;
      CheckProjectedCertificate(source["podCertificate"], at.Child("podCertificate"), places,
                                errors);
    }
    if (sources > 1) {
      errors.push_back(api::Forbidden(at, "may not specify more than 1 volume type per source"));
    }
  }
}

// A template may leave the reference to those who fill it in.
void CheckImageVolume(json::Value source, bool is_pod, const FieldPath& path, FieldErrors& errors) {
  if (is_pod) RequireField(source, "reference", path, errors);
  const json::Value policy = source["pullPolicy"];
  if (policy.AsString().empty()) {
    errors.push_back(api::Required(path.Child("pullPolicy"), ""));
  } else {
    CheckOneOf(policy, path.Child("pullPolicy"), {"Always", "IfNotPresent", "Never"}, errors);
  }
}

// A source of a pod's volume, with the places at which Kubernetes reports what is wrong with it.
struct HeldSource {
  json::Value source;
  FieldPath path;
  json::Value volume;
  FieldPath volume_path;
  json::Value pod_metadata;
  json::Value sent;  // the volume as it was sent, or null
};

void CheckEmptyDir(const HeldSource& held, FieldErrors& errors) {
  if (QuantityOf(held.source["sizeLimit"]).Sign() >= 0) return;
  errors.push_back(api::Forbidden(held.path.Child("sizeLimit"),
                                  "SizeLimit field must be a valid resource quantity"));
}

void CheckFiles(const HeldSource& held, std::string_view name, FieldErrors& errors) {
  RequireField(held.source, name, held.path, errors);
  CheckMode(held.source["defaultMode"], held.path.Child("defaultMode"), errors);
  CheckKeyToPaths(held.source["items"], held.path.Child("items"), errors);
}

void CheckSecret(const HeldSource& held, FieldErrors& errors) {
  CheckFiles(held, "secretName", errors);
}

void CheckConfigMap(const HeldSource& held, FieldErrors& errors) {
  CheckFiles(held, "name", errors);
}

void CheckDownwardApi(const HeldSource& held, FieldErrors& errors) {
  CheckMode(held.source["defaultMode"], held.path.Child("defaultMode"), errors);
  for (const json::Value& file : held.source["items"].elements()) {
    CheckDownwardFile(file, held.path, errors);
  }
}

void CheckProjectedSource(const HeldSource& held, FieldErrors& errors) {
  CheckProjected(held.source, held.path, errors);
}

void CheckImage(const HeldSource& held, FieldErrors& errors) {
  CheckImageVolume(held.source, !held.pod_metadata.is_null(), held.path, errors);
}

void CheckEphemeral(const HeldSource& held, FieldErrors& errors) {
  const json::Value claim = held.source["volumeClaimTemplate"];
  const FieldPath path = held.path.Child("volumeClaimTemplate");
  if (!IsSet(claim)) {
    errors.push_back(api::Required(path, ""));
    return;
  }
  json::Arena arena;
  const json::Value sent = held.sent["ephemeral"]["volumeClaimTemplate"]["metadata"];
  CheckTemplateMetadata(WithSentLists(arena, claim["metadata"], sent), path.Child("metadata"),
                        errors);
  CheckClaimSpec(claim["spec"], path.Child("spec"), errors);
  const std::string_view pod = held.pod_metadata["name"].AsString();
  const std::string_view name = held.volume["name"].AsString();
  if (pod.empty() || name.empty()) return;
  const std::string claim_name = base::StrCat(pod, "-", name);
  for (const std::string& text : api::IsDns1123Subdomain(claim_name)) {
    errors.push_back(api::Invalid(held.volume_path.Child("name"), name,
                                  base::StrCat("PVC name \"", claim_name, "\": ", text)));
  }
}

// In the order in which they are looked at; the first one counts, others are refused.
struct PodSource {
  std::string_view name;
  // Null: what persistent volumes have as well, see CheckVolumeField.
  void (*check)(const HeldSource& held, FieldErrors& errors) = nullptr;
  std::string_view path = {};          // where its fields are reported, if not at its name
  std::string_view refused_path = {};  // where a second one is refused, if not at its name
  std::uint32_t hash = json::HashKey(name);
};
constexpr PodSource kPodSources[] = {{"emptyDir", &CheckEmptyDir},
                                     {"hostPath"},
                                     {"gitRepo"},
                                     {"gcePersistentDisk", nullptr, "persistentDisk"},
                                     {"awsElasticBlockStore"},
                                     {"secret", &CheckSecret},
                                     {"nfs"},
                                     {"iscsi"},
                                     {"glusterfs"},
                                     {"flocker"},
                                     {"persistentVolumeClaim"},
                                     {"rbd"},
                                     {"cinder"},
                                     {"cephfs", nullptr, {}, "cephFS"},
                                     {"quobyte"},
                                     {"downwardAPI", &CheckDownwardApi, {}, "downwarAPI"},
                                     {"fc"},
                                     {"flexVolume"},
                                     {"configMap", &CheckConfigMap},
                                     {"azureFile"},
                                     {"vsphereVolume"},
                                     {"photonPersistentDisk"},
                                     {"portworxVolume"},
                                     {"azureDisk"},
                                     {"storageos"},
                                     {"projected", &CheckProjectedSource},
                                     {"scaleIO"},
                                     {"csi"},
                                     {"ephemeral", &CheckEphemeral},
                                     {"image", &CheckImage}};

void CheckVolumeSource(json::Value volume, json::Value sent, json::Value metadata,
                       const FieldPath& path, FieldErrors& errors) {
  bool found = false;
  for (const PodSource& source : kPodSources) {
    const json::Value* const member = volume.Find(source.name, source.hash);
    if (member == nullptr || !IsSet(*member)) continue;
    const json::Value held = *member;
    if (found) {
      const std::string_view place =
          source.refused_path.empty() ? source.name : source.refused_path;
      errors.push_back(
          api::Forbidden(path.Child(place), "may not specify more than 1 volume type"));
      continue;
    }
    found = true;
    const FieldPath at = path.Child(source.path.empty() ? source.name : source.path);
    if (source.check != nullptr) {
      source.check({held, at, volume, path, metadata, sent}, errors);
    } else {
      CheckVolumeField(held, source.name, at, false, errors);
    }
  }
  if (!found) errors.push_back(api::Required(path, "must specify a volume type"));
}

}  // namespace

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
  SentElements all_sent(pod.sent["volumes"]);
  std::size_t index = 0;
  for (const json::Value& volume : volumes.elements()) {
    const json::Value sent = all_sent.Find(index, volume["name"]);
    const FieldPath at = path.Index(index++);
    const std::string_view name = volume["name"].AsString();
    const std::size_t before = errors.size();
    CheckVolumeSource(volume, sent, metadata, at, errors);
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
