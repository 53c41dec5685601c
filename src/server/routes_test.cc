// SPDX-License-Identifier: Apache-2.0

#include "server/routes.h"

#include <gtest/gtest.h>

namespace portcullis::server {
namespace {

using Path = RouteMatch::Path;

constexpr Path kFound = Path::kFound;
constexpr Path kNoPath = Path::kNoPath;
constexpr Path kNoMethod = Path::kNoMethod;
constexpr Path kNoServer = Path::kNoServer;

struct Routed {
  std::string_view method, target;
  Path path;
  std::string_view verb;
};
constexpr Routed kRouted[] = {
    // Of the cluster.
    {"GET", "/api/v1/nodes", kFound, "list"},
    {"GET", "/api/v1/nodes?watch=1", kFound, "watch"},
    {"POST", "/api/v1/nodes", kFound, "create"},
    {"DELETE", "/api/v1/nodes", kFound, "deletecollection"},
    {"PUT", "/api/v1/nodes", kNoMethod, ""},
    {"HEAD", "/api/v1/nodes", kNoMethod, ""},
    {"GET", "/api/v1/nodes/n", kFound, "get"},
    {"POST", "/api/v1/nodes/n", kNoMethod, ""},
    {"PATCH", "/api/v1/nodes/n/status", kFound, "patch"},
    {"DELETE", "/api/v1/nodes/n/status", kNoMethod, ""},
    {"GET", "/api/v1/nodes/n/status/more", kNoPath, ""},
    {"OPTIONS", "/api/v1/nodes/n/proxy/a/b", kFound, "connect"},
    {"GET", "/api/v1/namespaces/a/nodes", kNoPath, ""},
    {"GET", "/api/v1/namespaces/a/nodes/n", kNoPath, ""},
    {"GET", "/api/v1/namespaces/a/namespaces/b", kNoPath, ""},
    {"PUT", "/api/v1/namespaces/a/finalize", kFound, "update"},
    {"PUT", "/api/v1/namespaces/a/namespaces/b/finalize", kNoPath, ""},
    {"DELETE", "/api/v1/namespaces", kNoMethod, ""},
    // Of a namespace.
    {"GET", "/api/v1/pods", kFound, "list"},
    {"POST", "/api/v1/pods", kNoMethod, ""},
    {"DELETE", "/api/v1/pods", kNoMethod, ""},
    {"GET", "/api/v1/pods/p", kNoPath, ""},
    {"DELETE", "/api/v1/namespaces/a/pods", kFound, "deletecollection"},
    {"GET", "/api/v1/namespaces/a/pods/p", kFound, "get"},
    {"POST", "/api/v1/namespaces/a/pods/p/exec", kFound, "connect"},
    {"PUT", "/api/v1/namespaces/a/pods/p/exec", kNoMethod, ""},
    {"POST", "/api/v1/namespaces/a/pods/p/eviction", kFound, "create"},
    {"GET", "/api/v1/namespaces/a/pods/p/eviction", kNoMethod, ""},
    // Watches by their path.
    {"GET", "/api/v1/watch/pods", kFound, "watch"},
    {"GET", "/api/v1/watch/namespaces/a/pods", kFound, "watch"},
    {"GET", "/api/v1/watch/namespaces/a/pods/p", kFound, "watch"},
    {"DELETE", "/api/v1/watch/namespaces/a/pods/p", kNoMethod, ""},
    {"POST", "/api/v1/watch/pods", kNoMethod, ""},
    {"GET", "/api/v1/watch/pods/p", kNoPath, ""},
    {"GET", "/api/v1/watch/namespaces/a/pods/p/status", kNoPath, ""},
    {"GET", "/api/v1/watch/namespaces/a/nodes", kNoPath, ""},
    {"GET", "/api/v1/watch/nodes/n", kFound, "watch"},
    {"GET", "/api/v1/proxy/nodes/n", kNoPath, ""},
    // Only created, or only read.
    {"POST", "/apis/authentication.k8s.io/v1/tokenreviews", kFound, "create"},
    {"GET", "/apis/authentication.k8s.io/v1/tokenreviews", kNoMethod, ""},
    {"GET", "/apis/authentication.k8s.io/v1/tokenreviews/x", kNoPath, ""},
    {"GET", "/apis/authentication.k8s.io/v1/watch/tokenreviews", kNoPath, ""},
    {"POST", "/apis/authorization.k8s.io/v1/localsubjectaccessreviews", kNoPath, ""},
    // Nothing but a subresource (docs/legacy.md).
    {"GET", "/apis/extensions/v1beta1/namespaces/a/replicationcontrollers", kNoPath, ""},
    {"GET", "/apis/extensions/v1beta1/namespaces/a/replicationcontrollers/r", kNoPath, ""},
    {"GET", "/apis/extensions/v1beta1/namespaces/a/replicationcontrollers/r/scale", kFound, "get"},
    {"POST", "/apis/extensions/v1beta1/namespaces/a/replicationcontrollers/r/scale", kNoMethod, ""},
    // Slashes at the end do not count, empty parts do.
    {"GET", "/api/v1/nodes/", kFound, "list"},
    {"PUT", "/api/v1/nodes//", kNoMethod, ""},
    {"GET", "/api/v1/nodes/n/", kFound, "get"},
    {"GET", "/api/v1/nodes//status", kFound, "get"},
    {"GET", "/api/v1/namespaces//pods", kFound, "list"},
    {"GET", "/api/v1/namespaces/a%2Fpods%2fp", kFound, "get"},
    {"GET", "/api/v1//pods", kNoPath, ""},
    {"GET", "//api/v1/pods", kNoServer, ""},
    {"GET", "/apis//v1/pods", kNoServer, ""},
};

TEST(Routes, AreThoseOfKubernetes) {
  const auto catalog = api::catalog::Catalog::BuiltIn({{"extensions/v1beta1", true}}).value();
  for (const Routed& row : kRouted) {
    const RequestInfo info = ParseRequestInfo(row.method, row.target);
    const auto* resource = catalog->Find(info.api_group, info.api_version, info.resource);
    RouteMatch route;
    if (resource != nullptr) {
      const auto* subresource = resource->FindSubresource(info.subresource);
      if (info.subresource.empty() || subresource != nullptr) {
        route = FindRoute(info, *resource, subresource);
      }
    }
    EXPECT_EQ(route.path, row.path) << row.method << " " << row.target;
    EXPECT_EQ(route.verb, row.verb) << row.method << " " << row.target;
  }
}

}  // namespace
}  // namespace portcullis::server
