// SPDX-License-Identifier: Apache-2.0

// Pods: a node makes only mirror pods of its own, deletes and evicts only its own, and reports only
// on its own.
#include <algorithm>
#include <iterator>

#include "admission/errors.h"
#include "api/view/metadata.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "plugins/common/pod_references.h"
#include "plugins/common/state.h"
#include "plugins/node_restriction/node_restriction_rules.h"

namespace portcullis::plugins::node_restriction {
namespace {

// Volumes that refer to objects, and what the refusal calls them.
constexpr std::string_view kReferring[][2] = {
    {"configMap", "configmaps (via configmap volumes)"},
    {"secret", "secrets (via secret volumes)"},
    {"csi", "csidrivers (via CSI volumes)"},
    {"glusterfs", "endpoints (via glusterFS volumes)"},
    {"persistentVolumeClaim", "persistentvolumeclaims"},
    {"ephemeral", "persistentvolumeclaims (via ephemeral volumes)"},
    {"azureFile", "secrets (via azureFile volumes)"},
};
constexpr std::string_view kProjected[][2] = {
    {"configMap", "configmaps (via projected volumes)"},
    {"secret", "secrets (via projected volumes)"},
    {"serviceAccountToken", "serviceaccounts (via projected volumes)"},
    {"clusterTrustBundle", "clustertrustbundles"},
    {"podCertificate", "podcertificates"},
};
constexpr std::string_view kHarmless[] = {
    "awsElasticBlockStore",
    "azureDisk",
    "cephfs",
    "cinder",
    "downwardAPI",
    "emptyDir",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "hostPath",
    "image",
    "iscsi",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
};

struct References {
  std::string what;   // the first kind of object referred to, or ""
  std::string error;  // a volume of an unknown type, or ""
};

References OfProjected(json::Value volume) {
  for (const json::Value& source : volume["projected"]["sources"].elements()) {
    for (const auto& [member, what] : kProjected) {
      if (!source[member].is_null()) return {std::string(what), ""};
    }
    if (source["downwardAPI"].is_null()) {
      return {"", base::StrCat("unknown source for projected volume ",
                               base::GoQuote(volume["name"].AsString()))};
    }
  }
  return {};
}

References OfVolume(json::Value volume) {
  const bool harmless = std::any_of(std::begin(kHarmless), std::end(kHarmless),
                                    [&](std::string_view type) { return !volume[type].is_null(); });
  if (harmless) return {};
  for (const auto& [member, what] : kReferring) {
    if (!volume[member].is_null()) return {std::string(what), ""};
  }
  if (!volume["projected"].is_null()) return OfProjected(volume);
  return {"", base::StrCat("unknown volume type for volume  ",
                           base::GoQuote(volume["name"].AsString()))};
}

References ReferencesOf(json::Value spec) {
  const auto stop = [](std::string_view) { return false; };
  if (!spec["serviceAccountName"].AsString().empty()) return {"serviceaccounts", ""};
  if (!common::VisitSecretNames(spec, stop)) return {"secrets", ""};
  if (!common::VisitConfigMapNames(spec, stop)) return {"configmaps", ""};
  if (!spec["resourceClaims"].empty()) return {"resourceclaims", ""};
  for (const json::Value& volume : spec["volumes"].elements()) {
    References found = OfVolume(volume);
    if (!found.what.empty() || !found.error.empty()) return found;
  }
  return {};
}

// The words of 1.30, which looked at fewer kinds.
std::string OldReferencesOf(json::Value spec) {
  const auto stop = [](std::string_view) { return false; };
  if (!spec["serviceAccountName"].AsString().empty()) return "a service account";
  if (!common::VisitSecretNames(spec, stop)) return "secrets";
  if (!common::VisitConfigMapNames(spec, stop)) return "configmaps";
  for (const json::Value& volume : spec["volumes"].elements()) {
    for (const json::Value& source : volume["projected"]["sources"].elements()) {
      if (!source["clusterTrustBundle"].is_null()) return "clustertrustbundles";
    }
    if (!volume["persistentVolumeClaim"].is_null()) return "persistentvolumeclaims";
  }
  return {};
}

base::Status CheckOwner(const NodeRequest& node, json::Value owners) {
  if (owners.size() > 1) {
    return node.RefuseNode("can only create pods with a single owner reference set to itself");
  }
  const json::Value owner = owners[std::size_t{0}];
  if (owner["apiVersion"].AsString() != "v1" || owner["kind"].AsString() != "Node" ||
      owner["name"].AsString() != node.name) {
    return node.RefuseNode("can only create pods with an owner reference set to itself");
  }
  if (!owner["controller"].AsBool()) {
    return node.RefuseNode("can only create pods with a controller owner reference set to itself");
  }
  if (owner["blockOwnerDeletion"].AsBool()) {
    return node.RefuseNode("must not set blockOwnerDeletion on an owner reference");
  }
  const store::ObjectPtr self = common::Find(node.reader, "", "nodes", "", node.name);
  if (self == nullptr) return common::AbsentFromCache("", "node", node.name);
  if (self->uid() == owner["uid"].AsString()) return base::OkStatus();
  return node.Refuse(base::StrCat("node ", node.name, " UID mismatch: expected ",
                                  owner["uid"].AsString(), " got ", self->uid()));
}

base::Status CheckPodCreate(const NodeRequest& node) {
  const json::Value pod = node.request.object();
  const json::Value spec = pod["spec"];
  if (!common::IsMirrorPod(pod)) {
    return node.Refuse(
        base::StrCat("pod does not have \"kubernetes.io/config.mirror\" annotation, "
                     "node ",
                     node.Quoted(), " can only create mirror pods"));
  }
  if (spec["nodeName"].AsString() != node.name) {
    return node.RefuseNode("can only create pods with spec.nodeName set to itself");
  }
  TRY(CheckOwner(node, pod["metadata"]["ownerReferences"]));
  const References found = node.release.Has("NodeRestrictionAllReferencesOfMirrorPods")
                               ? ReferencesOf(spec)
                               : References{OldReferencesOf(spec), ""};
  if (!found.error.empty()) {
    return node.Refuse("error checking mirror pod for API references: " + found.error);
  }
  if (found.what.empty()) return base::OkStatus();
  return node.RefuseNode("can not create pods that reference " + found.what);
}

base::Status CheckPodDelete(const NodeRequest& node) {
  const admission::Request& request = node.request;
  const store::ObjectPtr pod =
      common::Find(node.reader, "", "pods", request.namespace_name(), request.name());
  if (pod == nullptr) return common::AbsentFromCache("", "pod", request.name());
  if (pod->document()["spec"]["nodeName"].AsString() == node.name) return base::OkStatus();
  return node.RefuseNode("can only delete pods with spec.nodeName set to itself");
}

bool SameMaps(json::Value a, json::Value b) { return (a.empty() && b.empty()) || a == b; }

base::Status CheckPodStatus(const NodeRequest& node) {
  if (!node.Is(admission::kUpdate)) return node.RefuseOperation();
  const json::Value before = node.request.old_object();
  const json::Value after = node.request.object();
  if (before["spec"]["nodeName"].AsString() != node.name) {
    return node.RefuseNode("can only update pod status for pods with spec.nodeName set to itself");
  }
  if (!SameMaps(before["metadata"]["labels"], after["metadata"]["labels"])) {
    return node.RefuseNode("cannot update labels through pod status");
  }
  const auto differs = [&](std::string_view member) {
    return !SameMaps(before["status"][member], after["status"][member]);
  };
  if (differs("resourceClaimStatuses")) {
    return node.RefuseNode("cannot update resource claim statues");
  }
  // An empty one is not the same as none.
  constexpr std::string_view kExtended = "extendedResourceClaimStatus";
  const bool was_set = !before["status"][kExtended].is_null();
  const bool is_set = !after["status"][kExtended].is_null();
  if (node.release.Has("NodeRestrictionExtendedClaimStatus") &&
      (was_set != is_set || differs(kExtended))) {
    return node.RefuseNode("cannot update extended resource claim status");
  }
  return base::OkStatus();
}

base::Status CheckEviction(const NodeRequest& node) {
  const admission::Request& request = node.request;
  if (!node.Is(admission::kCreate)) {
    return node.Refuse(
        base::StrCat("unexpected operation ", admission::OperationText(request.operation())));
  }
  std::string_view name = request.name();
  if (name.empty()) name = api::view::Metadata(request.object()).name();
  if (name.empty()) return node.Refuse("could not determine pod from request data");
  const store::ObjectPtr pod =
      common::Find(node.reader, "", "pods", request.namespace_name(), name);
  if (pod == nullptr) return common::AbsentFromCache("", "pod", name);
  if (pod->document()["spec"]["nodeName"].AsString() == node.name) return base::OkStatus();
  return node.Refuse(
      base::StrCat("node ", node.name, " can only evict pods with spec.nodeName set to itself"));
}

}  // namespace

base::Status CheckPod(const NodeRequest& node) {
  const std::string& subresource = node.request.subresource();
  if (subresource == "status") return CheckPodStatus(node);
  if (subresource == "eviction") return CheckEviction(node);
  if (!subresource.empty()) {
    return node.Refuse(base::StrCat("unexpected pod subresource ", base::GoQuote(subresource),
                                    ", only 'status' and 'eviction' are allowed"));
  }
  if (node.Is(admission::kCreate)) return CheckPodCreate(node);
  if (node.Is(admission::kDelete)) return CheckPodDelete(node);
  return node.Refuse(base::StrCat(
      "unexpected operation ", base::GoQuote(admission::OperationText(node.request.operation())),
      ", node ", node.Quoted(), " can only create and delete mirror pods"));
}

}  // namespace portcullis::plugins::node_restriction
