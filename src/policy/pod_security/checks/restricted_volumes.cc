// SPDX-License-Identifier: Apache-2.0

#include "policy/pod_security/checks/restricted_volumes.h"

#include "policy/pod_security/sentences.h"

namespace portcullis::policy::pod_security {
namespace {

constexpr std::string_view kAllowed[] = {
    "configMap", "csi",    "downwardAPI",           "emptyDir",  "ephemeral",
    "image",     "secret", "persistentVolumeClaim", "projected",
};
constexpr std::string_view kRestricted[] = {
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
};

bool HasOneOf(json::Value volume, std::span<const std::string_view> types) {
  for (std::string_view type : types) {
    if (!volume[type].is_null()) return true;
  }
  return false;
}

// A volume without any source becomes an emptyDir.
bool HasNoSource(json::Value volume) {
  for (const json::Member& member : volume.members()) {
    if (member.name() != "name" && !member.value.is_null()) return false;
  }
  return true;
}

std::string_view RestrictedType(json::Value volume) {
  for (std::string_view type : kRestricted) {
    if (!volume[type].is_null()) return type;
  }
  return "unknown";
}

CheckResult CheckVolumes(const PodView& pod) {
  Names volumes;
  Values types;
  for (const json::Value& volume : pod.spec["volumes"].elements()) {
    if (HasOneOf(volume, kAllowed) || HasNoSource(volume)) continue;
    volumes.push_back(volume["name"].AsString());
    types.emplace(RestrictedType(volume));
  }
  if (volumes.empty()) return Allow();
  return Deny(
      "restricted volume types",
      base::StrCat(Plural("volume", "volumes", volumes.size()), " ", JoinQuoted(volumes), " ",
                   Plural("uses", "use", volumes.size()), " ",
                   Plural("restricted volume type", "restricted volume types", types.size()), " ",
                   JoinQuoted(types)));
}

constexpr std::string_view kOverrides[] = {"hostPathVolumes"};
constexpr CheckVersion kVersions[] = {{0, &CheckVolumes, kOverrides}};

}  // namespace

constinit const Check kRestrictedVolumes = {"restrictedVolumes", Level::kRestricted, kVersions};

}  // namespace portcullis::policy::pod_security
