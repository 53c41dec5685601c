// SPDX-License-Identifier: Apache-2.0

#include "plugins/common/pod_references.h"

namespace portcullis::plugins::common {
namespace {

using Visitor = std::function<bool(std::string_view)>;

bool Visit(json::Value name, const Visitor& visit) {
  return name.AsString().empty() || visit(name.AsString());
}

// env[].valueFrom.<key_ref> and envFrom[].<from_ref> of every container.
bool VisitEnvironments(json::Value pod_spec, std::string_view key_ref, std::string_view from_ref,
                       const Visitor& visit) {
  for (std::string_view list : {"initContainers", "containers", "ephemeralContainers"}) {
    for (const json::Value& container : pod_spec[list].elements()) {
      for (const json::Value& source : container["envFrom"].elements()) {
        if (!Visit(source[from_ref]["name"], visit)) return false;
      }
      for (const json::Value& variable : container["env"].elements()) {
        if (!Visit(variable["valueFrom"][key_ref]["name"], visit)) return false;
      }
    }
  }
  return true;
}

// Where volume sources keep the name of a secret: directly, or in a reference.
struct SecretPlace {
  std::string_view source;
  std::string_view member;
  bool is_reference;
};
constexpr SecretPlace kSecretPlaces[] = {
    {"azureFile", "secretName", false}, {"cephfs", "secretRef", true},
    {"cinder", "secretRef", true},      {"flexVolume", "secretRef", true},
    {"rbd", "secretRef", true},         {"secret", "secretName", false},
    {"scaleIO", "secretRef", true},     {"iscsi", "secretRef", true},
    {"storageos", "secretRef", true},   {"csi", "nodePublishSecretRef", true},
};

bool VisitProjected(json::Value volume, std::string_view source, const Visitor& visit) {
  for (const json::Value& projection : volume["projected"]["sources"].elements()) {
    if (!Visit(projection[source]["name"], visit)) return false;
  }
  return true;
}

}  // namespace

bool IsMirrorPod(json::Value pod) {
  return pod["metadata"]["annotations"].Has("kubernetes.io/config.mirror");
}

bool VisitSecretNames(json::Value pod_spec, const Visitor& visit) {
  for (const json::Value& secret : pod_spec["imagePullSecrets"].elements()) {
    if (!Visit(secret["name"], visit)) return false;
  }
  if (!VisitEnvironments(pod_spec, "secretKeyRef", "secretRef", visit)) return false;
  for (const json::Value& volume : pod_spec["volumes"].elements()) {
    for (const SecretPlace& place : kSecretPlaces) {
      const json::Value member = volume[place.source][place.member];
      if (!Visit(place.is_reference ? member["name"] : member, visit)) return false;
    }
    if (!VisitProjected(volume, "secret", visit)) return false;
  }
  return true;
}

bool VisitConfigMapNames(json::Value pod_spec, const Visitor& visit) {
  if (!VisitEnvironments(pod_spec, "configMapKeyRef", "configMapRef", visit)) return false;
  for (const json::Value& volume : pod_spec["volumes"].elements()) {
    if (!Visit(volume["configMap"]["name"], visit)) return false;
    if (!VisitProjected(volume, "configMap", visit)) return false;
  }
  return true;
}

}  // namespace portcullis::plugins::common
