// SPDX-License-Identifier: Apache-2.0

#include "store/storage_key.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/strings.h"

namespace portcullis::store {
namespace {

struct Row {
  std::string_view group;
  std::string_view resource;
  std::string_view folder;
};

// Resources that Kubernetes has, or had (docs/legacy.md), in order of group and resource. Anything
// else is a custom resource.
constexpr Row kBuiltIn[] = {
    {"", "configmaps", "configmaps"},
    {"", "endpoints", "services/endpoints"},
    {"", "events", "events"},
    {"", "limitranges", "limitranges"},
    {"", "namespaces", "namespaces"},
    {"", "nodes", "minions"},
    {"", "persistentvolumeclaims", "persistentvolumeclaims"},
    {"", "persistentvolumes", "persistentvolumes"},
    {"", "pods", "pods"},
    {"", "podtemplates", "podtemplates"},
    {"", "replicationcontrollers", "controllers"},
    {"", "resourcequotas", "resourcequotas"},
    {"", "secrets", "secrets"},
    {"", "serviceaccounts", "serviceaccounts"},
    {"", "services", "services/specs"},
    {"admissionregistration.k8s.io", "externaladmissionhookconfigurations",
     "externaladmissionhookconfigurations"},
    {"admissionregistration.k8s.io", "initializerconfigurations", "initializerconfigurations"},
    {"admissionregistration.k8s.io", "mutatingadmissionpolicies", "mutatingadmissionpolicies"},
    {"admissionregistration.k8s.io", "mutatingadmissionpolicybindings",
     "mutatingadmissionpolicybindings"},
    {"admissionregistration.k8s.io", "mutatingwebhookconfigurations",
     "mutatingwebhookconfigurations"},
    {"admissionregistration.k8s.io", "validatingadmissionpolicies", "validatingadmissionpolicies"},
    {"admissionregistration.k8s.io", "validatingadmissionpolicybindings",
     "validatingadmissionpolicybindings"},
    {"admissionregistration.k8s.io", "validatingwebhookconfigurations",
     "validatingwebhookconfigurations"},
    {"apiextensions.k8s.io", "customresourcedefinitions",
     "apiextensions.k8s.io/customresourcedefinitions"},
    {"apiregistration.k8s.io", "apiservices", "apiregistration.k8s.io/apiservices"},
    {"apps", "controllerrevisions", "controllerrevisions"},
    {"apps", "daemonsets", "daemonsets"},
    {"apps", "deployments", "deployments"},
    {"apps", "replicasets", "replicasets"},
    {"apps", "statefulsets", "statefulsets"},
    {"autoscaling", "horizontalpodautoscalers", "horizontalpodautoscalers"},
    {"batch", "cronjobs", "cronjobs"},
    {"batch", "jobs", "jobs"},
    {"certificates.k8s.io", "certificatesigningrequests", "certificatesigningrequests"},
    {"certificates.k8s.io", "clustertrustbundles", "clustertrustbundles"},
    {"certificates.k8s.io", "podcertificaterequests", "podcertificaterequests"},
    {"coordination.k8s.io", "leasecandidates", "leasecandidates"},
    {"coordination.k8s.io", "leases", "leases"},
    {"discovery.k8s.io", "endpointslices", "endpointslices"},
    {"flowcontrol.apiserver.k8s.io", "flowschemas", "flowschemas"},
    {"flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", "prioritylevelconfigurations"},
    {"internal.apiserver.k8s.io", "storageversions", "storageversions"},
    {"networking.k8s.io", "ingressclasses", "ingressclasses"},
    {"networking.k8s.io", "ingresses", "ingress"},
    {"networking.k8s.io", "ipaddresses", "ipaddresses"},
    {"networking.k8s.io", "networkpolicies", "networkpolicies"},
    {"networking.k8s.io", "servicecidrs", "servicecidrs"},
    {"node.k8s.io", "runtimeclasses", "runtimeclasses"},
    {"policy", "poddisruptionbudgets", "poddisruptionbudgets"},
    {"policy", "podsecuritypolicies", "podsecuritypolicy"},
    {"rbac.authorization.k8s.io", "clusterrolebindings", "clusterrolebindings"},
    {"rbac.authorization.k8s.io", "clusterroles", "clusterroles"},
    {"rbac.authorization.k8s.io", "rolebindings", "rolebindings"},
    {"rbac.authorization.k8s.io", "roles", "roles"},
    {"resource.k8s.io", "deviceclasses", "deviceclasses"},
    {"resource.k8s.io", "devicetaintrules", "devicetaintrules"},
    {"resource.k8s.io", "resourceclaims", "resourceclaims"},
    {"resource.k8s.io", "resourceclaimtemplates", "resourceclaimtemplates"},
    {"resource.k8s.io", "resourcepoolstatusrequests", "resourcepoolstatusrequests"},
    {"resource.k8s.io", "resourceslices", "resourceslices"},
    {"scheduling.k8s.io", "podgroups", "podgroups"},
    {"scheduling.k8s.io", "priorityclasses", "priorityclasses"},
    {"scheduling.k8s.io", "workloads", "workloads"},
    {"settings.k8s.io", "podpresets", "podpresets"},
    {"storage.k8s.io", "csidrivers", "csidrivers"},
    {"storage.k8s.io", "csinodes", "csinodes"},
    {"storage.k8s.io", "csistoragecapacities", "csistoragecapacities"},
    {"storage.k8s.io", "storageclasses", "storageclasses"},
    {"storage.k8s.io", "volumeattachments", "volumeattachments"},
    {"storage.k8s.io", "volumeattributesclasses", "volumeattributesclasses"},
    {"storagemigration.k8s.io", "storageversionmigrations", "storageversionmigrations"},
};

const Row* FindResource(std::string_view group, std::string_view resource) {
  const auto less = [](const Row& row,
                       const std::pair<std::string_view, std::string_view>& wanted) {
    return std::pair(row.group, row.resource) < wanted;
  };
  const std::pair wanted(group, resource);
  const Row* row = std::lower_bound(std::begin(kBuiltIn), std::end(kBuiltIn), wanted, less);
  const bool found = row != std::end(kBuiltIn) && std::pair(row->group, row->resource) == wanted;
  return found ? row : nullptr;
}

const Row* FindFolder(std::string_view folder) {
  const Row* row = std::find_if(std::begin(kBuiltIn), std::end(kBuiltIn),
                                [&](const Row& r) { return r.folder == folder; });
  return row == std::end(kBuiltIn) ? nullptr : row;
}

// Takes the next part of a path; "" at its end.
std::string_view TakePart(std::string_view& path) {
  const std::string_view part = path.substr(0, path.find('/'));
  path.remove_prefix(std::min(path.size(), part.size() + 1));
  return part;
}

}  // namespace

std::string StorageKey(const Key& key, std::string_view prefix) {
  const Row* row = FindResource(key.group, key.resource);
  const bool has_group = row == nullptr && !key.group.empty();
  return base::StrCat(prefix, "/", has_group ? key.group : "", has_group ? "/" : "",
                      row != nullptr ? row->folder : key.resource, "/", key.ns,
                      key.ns.empty() ? "" : "/", key.name);
}

bool IsBuiltIn(const Collection& collection) {
  return FindResource(collection.group, collection.resource) != nullptr;
}

std::optional<Key> ParseStorageKey(std::string_view storage_key, std::string_view prefix) {
  if (!storage_key.starts_with(prefix)) return std::nullopt;
  std::string_view rest = storage_key.substr(prefix.size());
  if (!rest.starts_with('/')) return std::nullopt;
  rest.remove_prefix(1);
  Key key;
  const std::string_view first = TakePart(rest);
  const Row* row = FindFolder(first);
  if (row == nullptr) {
    const std::string_view second = TakePart(rest);
    if (second.empty()) return std::nullopt;
    row = FindFolder({first.data(), first.size() + 1 + second.size()});
    if (row == nullptr) {
      // The group of a custom resource has a dot, a folder has none.
      if (first.find('.') == first.npos) return std::nullopt;
      key.group = first;
      key.resource = second;
    }
  }
  if (row != nullptr) {
    key.group = row->group;
    key.resource = row->resource;
  }
  // Neither a namespace nor a name has a slash.
  const std::string_view third = TakePart(rest);
  const std::string_view fourth = TakePart(rest);
  if (third.empty() || !rest.empty() || storage_key.ends_with('/')) return std::nullopt;
  key.ns = fourth.empty() ? std::string_view() : third;
  key.name = fourth.empty() ? third : fourth;
  return key;
}

}  // namespace portcullis::store
