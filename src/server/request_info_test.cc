// SPDX-License-Identifier: Apache-2.0

#include "server/request_info.h"

#include <gtest/gtest.h>

namespace portcullis::server {
namespace {

struct Asked {
  std::string_view method, target, verb, group, resource, subresource, ns, name;
};
constexpr Asked kAsked[] = {
    {"GET", "/api/v1/namespaces", "list", "", "namespaces", "", "", ""},
    {"GET", "/api/v1/namespaces/a", "get", "", "namespaces", "", "a", "a"},
    {"PUT", "/api/v1/namespaces/a/finalize", "update", "", "namespaces", "finalize", "a", "a"},
    {"GET", "/api/v1/namespaces/a/pods", "list", "", "pods", "", "a", ""},
    {"GET", "/api/v1/namespaces/a/pods?watch=true", "watch", "", "pods", "", "a", ""},
    {"GET", "/api/v1/namespaces/a/pods?watch=0", "list", "", "pods", "", "a", ""},
    {"GET", "/api/v1/pods?fieldSelector=metadata.name%3Dp", "list", "", "pods", "", "", "p"},
    {"DELETE", "/api/v1/namespaces/a/pods", "deletecollection", "", "pods", "", "a", ""},
    {"POST", "/api/v1/namespaces/a/pods/p/eviction", "create", "", "pods", "eviction", "a", "p"},
    {"PATCH", "/apis/apps/v1/namespaces/a/deployments/d/scale", "patch", "apps", "deployments",
     "scale", "a", "d"},
    {"GET", "/apis/apps/v1/watch/namespaces/a/deployments", "watch", "apps", "deployments", "", "a",
     ""},
    {"GET", "/api/v1/watch/namespaces/a/pods/p/status", "watch", "", "pods", "status", "a", "p"},
    {"DELETE", "/api/v1/watch/pods", "watch", "", "pods", "", "", ""},
    {"GET", "/api/v1/namespaces/a%2Fpods/p", "get", "", "pods", "", "a", "p"},
    {"GET", "/api/v1/namespaces/a/pods?watch=FALSE", "list", "", "pods", "", "a", ""},
    {"GET", "/api/v1/namespaces/a/pods?watch=", "watch", "", "pods", "", "a", ""},
    {"GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn,metadata.name%3D%3Dp", "list", "", "pods",
     "", "", "p"},
    {"GET", "/api/v1/pods?fieldSelector=metadata.name!%3Dp", "list", "", "pods", "", "", ""},
    {"GET", "/api/v1/pods?fieldSelector=metadata.name%3Da%252Fb", "list", "", "pods", "", "", ""},
    {"GET", "/api/v1/pods?fieldSelector=metadata.name%3Dp&limit=x", "list", "", "pods", "", "", ""},
    {"GET", "/api/v1/pods?fieldSelector=metadata.name%3Dp&labelSelector=(", "list", "", "pods", "",
     "", ""},
    {"DELETE", "/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Dp", "deletecollection", "",
     "pods", "", "a", ""},
    {"GET", "/api/v1/nodes/n/proxy/a/b", "get", "", "nodes", "proxy", "", "n"},
};

TEST(RequestInfo, ReadsResourcePaths) {
  for (const Asked& row : kAsked) {
    const RequestInfo info = ParseRequestInfo(row.method, row.target);

    EXPECT_TRUE(info.is_resource) << row.target;
    EXPECT_EQ(info.verb, row.verb) << row.target;
    EXPECT_EQ(info.api_group, row.group) << row.target;
    EXPECT_EQ(info.resource, row.resource) << row.target;
    EXPECT_EQ(info.subresource, row.subresource) << row.target;
    EXPECT_EQ(info.name_space, row.ns) << row.target;
    EXPECT_EQ(info.name, row.name) << row.target;
  }
}

TEST(RequestInfo, OtherPathsAreNoResources) {
  for (std::string_view target : {"/", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1",
                                  "/healthz", "/version", "/openapi/v3/apis/apps/v1?hash=1"}) {
    EXPECT_FALSE(ParseRequestInfo("GET", target).is_resource) << target;
  }
}

TEST(RequestInfo, ReadsSelectorsOfCollectionsOnly) {
  const std::string query = "?fieldSelector=spec.nodeName%3Dn&labelSelector=a%3Db";
  const auto selectors = [&](std::string_view method, std::string path) {
    return ParseRequestInfo(method, path + query).selectors;
  };
  EXPECT_EQ(selectors("GET", "/api/v1/pods").fields.size(), 1u);
  EXPECT_EQ(selectors("GET", "/api/v1/pods").labels.size(), 1u);
  EXPECT_FALSE(selectors("DELETE", "/api/v1/namespaces/a/pods").empty());
  EXPECT_TRUE(selectors("GET", "/api/v1/namespaces/a/pods/p").empty());
  EXPECT_TRUE(selectors("POST", "/api/v1/namespaces/a/pods").empty());
  EXPECT_TRUE(selectors("GET", "/api/v1/watch/pods").empty());
}

TEST(RequestInfo, SaysWhatCannotBeUnderstood) {
  EXPECT_EQ(ParseRequestInfo("GET", "/api/v1/watch?a=b").error,
            "unable to determine kind and namespace from url, /api/v1/watch?a=b");
  EXPECT_EQ(ParseRequestInfo("GET", "/api/v1/watch/pods").error, "");
}

TEST(RequestInfo, DecodesNamesOnce) {
  EXPECT_EQ(ParseRequestInfo("GET", "/api/v1/namespaces/a/services/x%3Ay%2525").name, "x:y%25");
}

}  // namespace
}  // namespace portcullis::server
