// SPDX-License-Identifier: Apache-2.0

// Routes: which paths and methods a resource is served under. What RequestInfo reads from a path
// is what the request was authorized as; it does not say that the path exists. A cluster-scoped
// resource has no path under /namespaces/<ns>/: to serve one there would let the rights in one
// namespace act on the whole cluster.
//
// Sources: k8s.io/apiserver/pkg/endpoints, APIInstaller.registerResourceHandlers, for what is built
// in; k8s.io/apiextensions-apiserver/pkg/apiserver, crdHandler, for custom resources.
#pragma once

#include <cstdint>
#include <string_view>

#include "api/catalog/catalog.h"
#include "server/request_info.h"

namespace portcullis::server {

struct RouteMatch {
  enum class Path : std::uint8_t {
    kFound,
    kNoPath,    // no route of the resource has this path
    kNoMethod,  // one has, for other methods
    kNoServer,  // none of those that serve resources takes the path: "404 page not found"
  };
  Path path = Path::kNoPath;
  // get, list, watch, create, update, patch, delete, deletecollection or connect; empty if no route
  // was found.
  std::string_view verb;
};

// `subresource` is the one of `resource` that the request names, null if there is none of this
// name.
RouteMatch FindRoute(const RequestInfo& info, const api::catalog::ResourceInfo& resource,
                     const api::catalog::SubresourceInfo* subresource);

// Whether resources that are built in are served in the group. Their server answers whatever is
// below the group's path; of other groups only the paths of custom resources are known.
bool ServesBuiltIn(const api::catalog::Catalog& catalog, std::string_view group);

}  // namespace portcullis::server
