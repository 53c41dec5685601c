// SPDX-License-Identifier: Apache-2.0

#include "engine/boot/api_service_objects.h"

#include <cstdint>
#include <set>
#include <utility>

#include "base/strings.h"

namespace portcullis::engine {
namespace {

// Where a group stands among groups, and a version within its group (pkg/controlplane/apiserver and
// cmd/kube-apiserver/app, APIServicePriority).
struct Priority {
  std::string_view group;
  std::int64_t minimum;
};
constexpr Priority kGroups[] = {
    {"", 18000},
    {"admissionregistration.k8s.io", 16700},
    {"apiextensions.k8s.io", 16700},
    {"apps", 17800},
    {"authentication.k8s.io", 17700},
    {"authorization.k8s.io", 17600},
    {"autoscaling", 17500},
    {"batch", 17400},
    {"certificates.k8s.io", 17300},
    {"coordination.k8s.io", 16500},
    {"discovery.k8s.io", 16200},
    {"events.k8s.io", 17750},
    {"flowcontrol.apiserver.k8s.io", 16100},
    {"internal.apiserver.k8s.io", 16000},
    {"networking.k8s.io", 17200},
    {"node.k8s.io", 16300},
    {"policy", 17100},
    {"rbac.authorization.k8s.io", 17000},
    {"resource.k8s.io", 16200},
    {"scheduling.k8s.io", 16600},
    {"storage.k8s.io", 16800},
    {"storagemigration.k8s.io", 15800},
};
constexpr std::int64_t kUnknownGroup = 1000;

std::int64_t GroupPriority(std::string_view group) {
  for (const Priority& row : kGroups) {
    if (row.group == group) return row.minimum;
  }
  return kUnknownGroup;
}

// Priorities of versions that differ from those of others of their maturity.
struct VersionRow {
  std::string_view group;
  std::string_view version;
  std::int64_t priority;
};
constexpr VersionRow kVersions[] = {
    {"", "v1", 1},
    {"admissionregistration.k8s.io", "v1alpha1", 9},
    {"admissionregistration.k8s.io", "v1beta1", 12},
    {"autoscaling", "v2", 30},
    {"autoscaling", "v2beta2", 1},
    {"coordination.k8s.io", "v1alpha2", 12},
    {"coordination.k8s.io", "v1beta1", 13},
    {"discovery.k8s.io", "v1beta1", 12},
    {"events.k8s.io", "v1beta1", 5},
    {"flowcontrol.apiserver.k8s.io", "v1", 21},
    {"flowcontrol.apiserver.k8s.io", "v1beta1", 12},
    {"flowcontrol.apiserver.k8s.io", "v1beta2", 15},
    {"flowcontrol.apiserver.k8s.io", "v1beta3", 18},
    {"internal.apiserver.k8s.io", "v1alpha1", 9},
    {"resource.k8s.io", "v1", 21},
    {"resource.k8s.io", "v1beta2", 15},
    {"scheduling.k8s.io", "v1alpha2", 2},
};

std::int64_t VersionPriority(std::string_view group, std::string_view version) {
  for (const VersionRow& row : kVersions) {
    if (row.group == group && row.version == version) return row.priority;
  }
  if (version.find("alpha") != std::string_view::npos) return 1;
  return version.find("beta") != std::string_view::npos ? 9 : 15;
}

}  // namespace

std::vector<json::Value> ApiServiceObjects(json::Arena& arena,
                                           const api::catalog::Catalog& catalog) {
  std::set<std::pair<std::string_view, std::string_view>> versions;
  for (const api::catalog::ResourceInfo* resource : catalog.resources()) {
    const api::GroupVersionResource& served = resource->resource;
    // The group of APIServices does not name itself.
    if (resource->custom || served.group == "apiregistration.k8s.io") continue;
    versions.emplace(served.group, served.version);
  }
  std::vector<json::Value> objects;
  for (const auto& [group, version] : versions) {
    const json::Value labels = json::ObjectBuilder(arena)
                                   .Set("kube-aggregator.kubernetes.io/automanaged", "onstart")
                                   .Build();
    objects.push_back(json::ObjectBuilder(arena)
                          .Set("apiVersion", "apiregistration.k8s.io/v1")
                          .Set("kind", "APIService")
                          .Set("metadata", json::ObjectBuilder(arena)
                                               .Set("name", base::StrCat(version, ".", group))
                                               .Set("labels", labels)
                                               .Build())
                          .Set("spec", json::ObjectBuilder(arena)
                                           .Set("group", group)
                                           .Set("version", version)
                                           .Set("groupPriorityMinimum", GroupPriority(group))
                                           .Set("versionPriority", VersionPriority(group, version))
                                           .Build())
                          .Build());
  }
  return objects;
}

}  // namespace portcullis::engine
