// SPDX-License-Identifier: Apache-2.0

// Discovery documents made from a catalog, byte for byte what an apiserver answers.
#pragma once

#include <string_view>
#include <vector>

#include "api/catalog/catalog.h"
#include "json/value.h"

namespace portcullis::api::catalog {

// GET /api (APIVersions). `server_address` is what clients are told to use, e.g. "10.0.0.1:6443".
json::Value LegacyApiVersions(json::Arena& arena, const Catalog& catalog,
                              std::string_view server_address);
// The versions of a group as these documents list them, preferred first. Those that only custom resources
// in a group of Kubernetes have are not served: kube-apiserver takes all paths of the group for its own.
std::vector<VersionInfo> ListedVersions(const Catalog& catalog, const GroupInfo& group);
json::Value LegacyGroupList(json::Arena& arena, const Catalog& catalog);  // GET /apis
// GET /apis/<group>; null if the group is not served.
json::Value LegacyGroup(json::Arena& arena, const Catalog& catalog, std::string_view group);
// GET /api/v1, /apis/<group>/<version>; null if the version is not served.
json::Value LegacyResourceList(json::Arena& arena, const Catalog& catalog, std::string_view group,
                               std::string_view version);
// GET /api or /apis with `Accept: …;g=apidiscovery.k8s.io;v=<version>;as=APIGroupDiscoveryList`.
// `version` is "v2" or "v2beta1"; `core` chooses /api.
json::Value AggregatedDiscovery(json::Arena& arena, const Catalog& catalog, bool core,
                                std::string_view version);

}  // namespace portcullis::api::catalog
