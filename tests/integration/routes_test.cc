// SPDX-License-Identifier: Apache-2.0

// Which paths there are: a right in one namespace ends at its border, whatever the path looks like.

#include <gtest/gtest.h>

#include "api/catalog/catalog.h"
#include "base/strings.h"
#include "harness/test_server.h"

namespace portcullis {
namespace {

using api::catalog::ResourceInfo;
using testing::Answer;
using testing::TestServer;

constexpr std::string_view kUnknown = "the server could not find the requested resource";
constexpr std::string_view kMethods[] = {"GET",   "HEAD",   "POST",   "PUT",
                                         "PATCH", "DELETE", "OPTIONS"};
constexpr std::string_view kRbac = "/apis/rbac.authorization.k8s.io/v1";

// alice may do everything in the namespace "mine" and nothing anywhere else.
class NamespaceRights : public ::testing::Test {
 protected:
  NamespaceRights() : server_([](server::Options& o) { o.authorization_modes = {"RBAC"}; }) {
    for (std::string_view name : {"mine", "other"}) {
      Make("/api/v1/namespaces", base::StrCat(R"({"metadata":{"name":")", name, R"("}})"));
    }
    const std::string rbac = base::StrCat(kRbac, "/namespaces/mine");
    Make(base::StrCat(rbac, "/roles"), R"({"metadata":{"name":"all"},"rules":[
        {"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]})");
    Make(base::StrCat(rbac, "/rolebindings"), R"({"metadata":{"name":"all"},
        "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"all"},
        "subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"alice"}]})");
  }

  void Make(const std::string& path, std::string_view body) {
    const Answer made = server_.Post(path, body);
    ASSERT_EQ(made.status, 201) << made.body;
  }
  Answer AsAlice(std::string_view method, std::string_view path, std::string_view body = {}) {
    return server_.Call(method, path, body,
                        {{"Content-Type", "application/json"}, {"Impersonate-User", "alice"}});
  }
  // No method of the path does anything, or tells anything.
  void ExpectNothingAt(const std::string& path, std::string_view text = kUnknown) {
    for (std::string_view method : kMethods) {
      const Answer answer = AsAlice(method, path, method == "GET" ? "" : R"({"metadata":{}})");
      EXPECT_EQ(answer.status, 404) << method << " " << path << ": " << answer.body;
      if (method == "HEAD") continue;
      EXPECT_TRUE(answer.message() == text || answer.body == text) << path << ": " << answer.body;
    }
  }
  static std::string Base(const ResourceInfo& resource) {
    const auto& [group, version, name] = resource.resource;
    return group.empty() ? base::StrCat("/api/", version)
                         : base::StrCat("/apis/", group, "/", version);
  }

  TestServer server_;
};

TEST_F(NamespaceRights, ReachNoClusterScopedResource) {
  const auto catalog = api::catalog::Catalog::BuiltIn({}).value();
  int resources = 0;
  for (const ResourceInfo* resource : catalog->resources()) {
    if (resource->namespaced) continue;
    ++resources;
    for (std::string_view form : {"/namespaces/mine/", "/watch/namespaces/mine/"}) {
      const std::string collection =
          base::StrCat(Base(*resource), form, resource->resource.resource);
      ExpectNothingAt(collection);
      ExpectNothingAt(base::StrCat(collection, "?watch=1"));
      ExpectNothingAt(base::StrCat(collection, "/other"));
      for (const auto& subresource : resource->subresources) {
        ExpectNothingAt(base::StrCat(collection, "/other/", subresource.name));
      }
    }
  }
  EXPECT_GT(resources, 20);
  EXPECT_EQ(server_.Get("/api/v1/namespaces/other").status, 200);
}

TEST_F(NamespaceRights, ReachNoClusterScopedCustomResource) {
  Make("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", R"({
      "metadata":{"name":"lids.example.com"},"spec":{"group":"example.com","scope":"Cluster",
      "names":{"plural":"lids","kind":"Lid"},"versions":[{"name":"v1","served":true,"storage":true,
      "subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object"}}}]}})");
  for (std::string_view form : {"/namespaces/mine/", "/watch/namespaces/mine/"}) {
    const std::string collection = base::StrCat("/apis/example.com/v1", form, "lids");
    for (std::string_view rest : {"", "?watch=1", "/other", "/other/status"}) {
      ExpectNothingAt(base::StrCat(collection, rest), "404 page not found\n");
    }
  }
}

TEST_F(NamespaceRights, EndAtTheBorder) {
  EXPECT_EQ(AsAlice("GET", "/api/v1/namespaces/mine").status, 200);
  EXPECT_EQ(AsAlice("GET", "/api/v1/namespaces/mine/pods").status, 200);
  for (std::string_view path :
       {"/api/v1/namespaces", "/api/v1/namespaces/", "/api/v1/namespaces/other",
        "/api/v1/namespaces/other/pods", "/api/v1/namespaces//pods", "/api/v1/pods",
        "/api/v1/nodes", "/api/v1/watch/namespaces", "/api/v1/watch/pods",
        "/api/v1/watch/namespaces/other", "/api/v1/watch/namespaces/other/pods",
        "/api/v1//namespaces/other", "/api/v1/namespaces/mine/../other/pods",
        "/api/v1/namespaces/mine%2f..%2fother/pods/p"}) {
    for (std::string_view method : kMethods) {
      const Answer answer = AsAlice(method, path);
      EXPECT_TRUE(answer.status == 403 || answer.status == 404)
          << method << " " << path << ": " << answer.status << " " << answer.body;
    }
  }
}

TEST(Routes, HaveTheHeadsOfTheFiltersThatTheyReach) {
  TestServer server;
  const Answer index = server.Get("/index.html");
  EXPECT_EQ(index.body, server.Get("/").body);
  // One check has no head of its own, all of them together have.
  EXPECT_FALSE(server.Get("/livez/ping").headers.Has("X-Content-Type-Options"));
  EXPECT_EQ(server.Get("/livez").headers.Get("X-Content-Type-Options"), "nosniff");
  const Answer unreadable = server.Call("GET", "/api/v1/watch", {}, {{"Audit-Id", "mine"}});
  EXPECT_EQ(unreadable.status, 500);
  EXPECT_EQ(unreadable.headers.Get("Audit-Id"), "mine");
  EXPECT_FALSE(unreadable.headers.Has("Cache-Control"));
}

TEST(Routes, OfLogsCheckTheirOptionsFirst) {
  TestServer server;
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"sinceTime=x",
       R"(parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006")"},
      {"sinceTime=2020-01-01T00:00:00Z&sinceSeconds=1",
       R"(PodLogOptions "p" is invalid: []: Forbidden: at most one of `sinceTime` or )"
       "`sinceSeconds` may be specified"},
      {"stream=All", R"(PodLogOptions "p" is invalid: stream: Forbidden: may not be specified)"},
      {"sinceTime=2020-01-01T00:00:00Z", R"(pods "p" not found)"},
      {"sinceTime=null", R"(pods "p" not found)"},
  };
  for (const auto& [query, text] : cases) {
    const auto path = base::StrCat("/api/v1/namespaces/default/pods/p/log?", query);
    EXPECT_EQ(server.Get(path).message(), text) << query;
  }
}

TEST(Routes, WarnOfATokenBehindTwoSpaces) {
  TestServer server;
  const Answer warned = server.As(" x", "GET", "/api/v1/namespaces/default");
  EXPECT_EQ(warned.status, 403);
  EXPECT_EQ(warned.warnings(),
            std::vector<std::string>{
                R"(299 - "the provided Authorization header contains extra space before )"
                R"(the bearer token, and is ignored")"});
  EXPECT_TRUE(server.As("x", "GET", "/api/v1/namespaces/default").warnings().empty());
}

}  // namespace
}  // namespace portcullis
