// SPDX-License-Identifier: Apache-2.0

#include "authz/node/relations.h"

#include <algorithm>

#include "base/strings.h"

namespace portcullis::authz::node {
namespace {

constexpr std::string_view kMirrorAnnotation = "kubernetes.io/config.mirror";

void SortOnce(std::vector<std::string>& texts) {
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
}

class PodRelations {
 public:
  explicit PodRelations(json::Value pod)
      : pod_(pod),
        ns_(pod["metadata"]["namespace"].AsString()),
        name_(pod["metadata"]["name"].AsString()) {}

  Relations Find() && {
    const json::Value spec = pod_["spec"];
    out_.node = spec["nodeName"].AsString();
    if (out_.node.empty()) return std::move(out_);
    Add(Kind::kPod, name_);
    if (pod_["metadata"]["annotations"].Has(kMirrorAnnotation)) return std::move(out_);
    Add(Kind::kServiceAccount, spec["serviceAccountName"].AsString());
    for (json::Value secret : spec["imagePullSecrets"].elements()) AddNamed(Kind::kSecret, secret);
    for (std::string_view list : {"initContainers", "containers", "ephemeralContainers"}) {
      for (json::Value container : spec[list].elements()) AddContainer(container);
    }
    for (json::Value volume : spec["volumes"].elements()) AddVolume(volume);
    for (json::Value claim : spec["resourceClaims"].elements()) AddResourceClaim(claim);
    Add(Kind::kResourceClaim,
        pod_["status"]["extendedResourceClaimStatus"]["resourceClaimName"].AsString());
    SortOnce(out_.subjects);
    return std::move(out_);
  }

 private:
  void Add(Kind kind, std::string_view name) {
    if (!name.empty()) out_.subjects.push_back(Subject(kind, ns_, name));
  }
  void AddNamed(Kind kind, json::Value reference) { Add(kind, reference["name"].AsString()); }

  void AddContainer(json::Value container) {
    for (json::Value from : container["envFrom"].elements()) {
      AddNamed(Kind::kSecret, from["secretRef"]);
      AddNamed(Kind::kConfigMap, from["configMapRef"]);
    }
    for (json::Value variable : container["env"].elements()) {
      AddNamed(Kind::kSecret, variable["valueFrom"]["secretKeyRef"]);
      AddNamed(Kind::kConfigMap, variable["valueFrom"]["configMapKeyRef"]);
    }
  }

  void AddVolume(json::Value volume) {
    Add(Kind::kSecret, volume["secret"]["secretName"].AsString());
    Add(Kind::kSecret, volume["azureFile"]["secretName"].AsString());
    AddNamed(Kind::kSecret, volume["csi"]["nodePublishSecretRef"]);
    for (std::string_view driver :
         {"cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"}) {
      AddNamed(Kind::kSecret, volume[driver]["secretRef"]);
    }
    AddNamed(Kind::kConfigMap, volume["configMap"]);
    for (json::Value source : volume["projected"]["sources"].elements()) {
      AddNamed(Kind::kSecret, source["secret"]);
      AddNamed(Kind::kConfigMap, source["configMap"]);
    }
    Add(Kind::kClaim, volume["persistentVolumeClaim"]["claimName"].AsString());
    if (volume["ephemeral"].is_object()) {
      Add(Kind::kClaim, base::StrCat(name_, "-", volume["name"].AsString()));
    }
  }

  // By its name, or, if it is made from a template, by the name that its maker has noted.
  void AddResourceClaim(json::Value claim) {
    if (claim["resourceClaimName"].is_string()) {
      Add(Kind::kResourceClaim, claim["resourceClaimName"].AsString());
      return;
    }
    if (!claim["resourceClaimTemplateName"].is_string()) return;
    for (json::Value made : pod_["status"]["resourceClaimStatuses"].elements()) {
      if (made["name"].AsString() != claim["name"].AsString()) continue;
      Add(Kind::kResourceClaim, made["resourceClaimName"].AsString());
      return;
    }
  }

  const json::Value pod_;
  const std::string_view ns_;
  const std::string_view name_;
  Relations out_;
};

// Where a volume's drivers name a secret, and where they mean it to lie if they do not say.
struct SecretSource {
  std::string_view driver;
  std::string_view reference;
  bool beside_claim;
};
constexpr SecretSource kSecretSources[] = {
    {"cephfs", "secretRef", true},        {"flexVolume", "secretRef", true},
    {"rbd", "secretRef", true},           {"scaleIO", "secretRef", true},
    {"iscsi", "secretRef", true},         {"cinder", "secretRef", false},
    {"storageos", "secretRef", false},    {"csi", "nodePublishSecretRef", false},
    {"csi", "nodeStageSecretRef", false}, {"csi", "nodeExpandSecretRef", false},
};

}  // namespace

std::string Subject(Kind kind, std::string_view ns, std::string_view name) {
  std::string text(1, static_cast<char>('a' + static_cast<int>(kind)));
  text += ns;
  text += '/';
  text += name;
  return text;
}

Relations OfPod(json::Value pod) { return PodRelations(pod).Find(); }

Relations OfNodeNamed(Kind kind, json::Value object) {
  Relations relations;
  relations.node = object["spec"]["nodeName"].AsString();
  if (relations.node.empty()) return relations;
  const json::Value metadata = object["metadata"];
  relations.subjects.push_back(
      Subject(kind, metadata["namespace"].AsString(), metadata["name"].AsString()));
  return relations;
}

VolumeRelations OfVolume(json::Value volume) {
  VolumeRelations relations;
  const json::Value spec = volume["spec"];
  const json::Value claim = spec["claimRef"];
  if (!claim.is_object()) return relations;
  const std::string_view claim_ns = claim["namespace"].AsString();
  relations.claim = Subject(Kind::kClaim, claim_ns, claim["name"].AsString());
  const auto add = [&](std::string_view ns, std::string_view name) {
    if (!name.empty()) relations.secrets.push_back(Subject(Kind::kSecret, ns, name));
  };
  const json::Value azure = spec["azureFile"];
  const std::string_view azure_ns = azure["secretNamespace"].AsString();
  add(azure_ns.empty() ? claim_ns : azure_ns, azure["secretName"].AsString());
  for (const SecretSource& source : kSecretSources) {
    const json::Value secret = spec[source.driver][source.reference];
    const std::string_view ns = secret["namespace"].AsString();
    add(ns.empty() && source.beside_claim ? claim_ns : ns, secret["name"].AsString());
  }
  SortOnce(relations.secrets);
  return relations;
}

}  // namespace portcullis::authz::node
