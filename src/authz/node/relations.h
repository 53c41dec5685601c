// SPDX-License-Identifier: Apache-2.0

// What a stored object says about which node needs which other objects: the edges of the node
// authorizer's graph (plugin/pkg/auth/authorizer/node, Graph.AddPod and its kin). Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace portcullis::authz::node {

// Kinds of objects that a node may be related to.
enum class Kind : std::uint8_t {
  kPod,
  kSecret,
  kConfigMap,
  kClaim,   // PersistentVolumeClaim
  kVolume,  // PersistentVolume
  kServiceAccount,
  kResourceClaim,
  kAttachment,          // VolumeAttachment
  kSlice,               // ResourceSlice
  kCertificateRequest,  // PodCertificateRequest
};

// An object by kind, namespace and name in one text: what the graph's tables are keyed by.
std::string Subject(Kind kind, std::string_view ns, std::string_view name);

// The node and the objects it needs, the described object included; sorted, each once. No node: no
// relation.
struct Relations {
  std::string node;
  std::vector<std::string> subjects;
  bool operator==(const Relations&) const = default;
};

// A pod that is bound to a node makes the node need the pod, its service account, and the secrets,
// config maps and claims that it names. A mirror pod makes it need nothing but itself: nodes create
// those.
Relations OfPod(json::Value pod);
// An object that names its node in spec.nodeName and stands for nothing but itself.
Relations OfNodeNamed(Kind kind, json::Value object);

// A PersistentVolume bound to a claim: a node that needs the claim needs the volume, and the secrets
// that its driver uses on nodes. No claim: no relation.
struct VolumeRelations {
  std::string claim;
  std::vector<std::string> secrets;  // sorted, each once
  bool operator==(const VolumeRelations&) const = default;
};
VolumeRelations OfVolume(json::Value volume);

}  // namespace portcullis::authz::node
