// The table of all strategies, and the defaults for resources without a row.

#include <map>
#include <vector>

#include "api/catalog/catalog.h"
#include "registry/default_strategy.h"
#include "registry/strategies/strategies.h"
#include "registry/strategy.h"

namespace portcullis::registry {
namespace {

struct Row {
  std::string_view group;
  std::string_view resource;
  std::unique_ptr<Strategy> (*make)();
};

constexpr Row kRows[] = {
    {"", "namespaces", &MakeNamespaces},
    {"", "persistentvolumeclaims", &MakePersistentVolumeClaims},
    {"", "persistentvolumes", &MakePersistentVolumes},
    {"", "pods", &MakePods},
    {"", "serviceaccounts", &MakeServiceAccounts},
    {"", "services", &MakeServices},
    {"admissionregistration.k8s.io", "mutatingadmissionpolicies", &MakeMutatingAdmissionPolicies},
    {"admissionregistration.k8s.io", "mutatingadmissionpolicybindings",
     &MakeMutatingAdmissionPolicyBindings},
    {"admissionregistration.k8s.io", "mutatingwebhookconfigurations",
     &MakeMutatingWebhookConfigurations},
    {"admissionregistration.k8s.io", "validatingadmissionpolicies",
     &MakeValidatingAdmissionPolicies},
    {"admissionregistration.k8s.io", "validatingadmissionpolicybindings",
     &MakeValidatingAdmissionPolicyBindings},
    {"admissionregistration.k8s.io", "validatingwebhookconfigurations",
     &MakeValidatingWebhookConfigurations},
    {"apiextensions.k8s.io", "customresourcedefinitions", &MakeCustomResourceDefinitions},
    {"apps", "daemonsets", &MakeDaemonSets},
    {"batch", "jobs", &MakeJobs},
    {"certificates.k8s.io", "certificatesigningrequests", &MakeCertificateSigningRequests},
    {"scheduling.k8s.io", "priorityclasses", &MakePriorityClasses},
};

// Built-in resources whose objects count generations.
constexpr std::pair<std::string_view, std::string_view> kCountsGeneration[] = {
    {"", "podtemplates"},
    {"", "replicationcontrollers"},
    {"admissionregistration.k8s.io", "mutatingadmissionpolicies"},
    {"admissionregistration.k8s.io", "mutatingadmissionpolicybindings"},
    {"admissionregistration.k8s.io", "mutatingwebhookconfigurations"},
    {"admissionregistration.k8s.io", "validatingadmissionpolicies"},
    {"admissionregistration.k8s.io", "validatingadmissionpolicybindings"},
    {"admissionregistration.k8s.io", "validatingwebhookconfigurations"},
    {"apiextensions.k8s.io", "customresourcedefinitions"},
    {"apps", "daemonsets"},
    {"apps", "deployments"},
    {"apps", "replicasets"},
    {"apps", "statefulsets"},
    {"batch", "cronjobs"},
    {"batch", "jobs"},
    {"discovery.k8s.io", "endpointslices"},
    {"flowcontrol.apiserver.k8s.io", "flowschemas"},
    {"flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"},
    {"networking.k8s.io", "ingressclasses"},
    {"networking.k8s.io", "ingresses"},
    {"networking.k8s.io", "networkpolicies"},
    {"policy", "poddisruptionbudgets"},
    {"resource.k8s.io", "deviceclasses"},
    {"resource.k8s.io", "resourceslices"},
};

// Built-in resources whose deletes answer with the object.
constexpr std::pair<std::string_view, std::string_view> kReturnsDeleted[] = {
    {"", "podtemplates"},
    {"", "resourcequotas"},
    {"storage.k8s.io", "csidrivers"},
    {"storage.k8s.io", "csinodes"},
    {"storage.k8s.io", "storageclasses"},
    {"storage.k8s.io", "volumeattachments"},
    {"storage.k8s.io", "volumeattributesclasses"},
};

template <typename List>
bool Lists(const List& list, const api::GroupVersionResource& resource) {
  for (const auto& [group, name] : list) {
    if (group == resource.group && name == resource.resource) return true;
  }
  return false;
}

bool CountsGeneration(const api::catalog::ResourceInfo& resource) {
  return Lists(kCountsGeneration, resource.resource);
}

bool ReturnsDeleted(const api::catalog::ResourceInfo& resource) {
  return Lists(kReturnsDeleted, resource.resource);
}

}  // namespace

struct StrategyTable::Rows {
  std::map<std::pair<std::string_view, std::string_view>, std::unique_ptr<Strategy>> by_resource;
  std::unique_ptr<Strategy> custom[2];  // without and with a status subresource
  // Indexed by the traits: path segment names, status, generation, returns deleted.
  std::vector<DefaultStrategy> defaults;
};

StrategyTable::StrategyTable() {
  auto rows = std::make_unique<Rows>();
  for (const Row& row : kRows) rows->by_resource[{row.group, row.resource}] = row.make();
  rows->custom[0] = MakeCustomResources(false);
  rows->custom[1] = MakeCustomResources(true);
  for (unsigned bits = 0; bits < 16; ++bits) {
    const NameStyle names = (bits & 8U) != 0 ? NameStyle::kPathSegment : NameStyle::kSubdomain;
    rows->defaults.emplace_back(
        Traits{(bits & 4U) != 0, (bits & 2U) != 0, (bits & 1U) != 0, names});
  }
  rows_ = std::move(rows);
}

StrategyTable::~StrategyTable() = default;

const Strategy& StrategyTable::Find(const api::catalog::ResourceInfo& resource) const {
  const bool has_status = resource.FindSubresource("status") != nullptr;
  if (resource.custom) return *rows_->custom[has_status ? 1 : 0];
  const auto row =
      rows_->by_resource.find({resource.storage_kind.group, resource.resource.resource});
  if (row != rows_->by_resource.end()) return *row->second;
  const std::string& group = resource.resource.group;
  // The names of trust bundles hold the signer's, with colons; validation says more.
  const bool path_names = group == "rbac.authorization.k8s.io" ||
                          group == "apiregistration.k8s.io" ||
                          resource.resource.resource == "clustertrustbundles";
  return rows_
      ->defaults[(path_names ? 8U : 0U) + (has_status ? 4U : 0U) +
                 (CountsGeneration(resource) ? 2U : 0U) + (ReturnsDeleted(resource) ? 1U : 0U)];
}

}  // namespace portcullis::registry
