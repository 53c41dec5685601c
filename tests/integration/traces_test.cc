// SPDX-License-Identifier: Apache-2.0

// Traces over HTTPS: who may ask for one, where it is found, and what is in it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/strings.h"
#include "harness/test_server.h"

namespace portcullis::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kConfigMaps = "/api/v1/namespaces/default/configmaps";
constexpr std::string_view kSecrets = "/api/v1/namespaces/default/secrets";
constexpr std::string_view kHeader = "Portcullis-Trace";

class TracesTest : public ::testing::Test {
 protected:
  static net::Headers As(std::string_view user, std::string_view trace = "") {
    net::Headers headers = {{"Content-Type", "application/json"}};
    if (!user.empty()) headers.Set("Impersonate-User", std::string(user));
    if (!trace.empty()) headers.Set(kHeader, std::string(trace));
    return headers;
  }

  static std::string Object(std::string_view name, std::string_view more = "") {
    return base::StrCat(R"({"metadata":{"name":")", name, "\"}", more, "}");
  }

  // Lets the user write config maps and get these paths.
  static void Grant(TestServer& server, std::string_view user, std::string_view paths) {
    const std::string subjects = base::StrCat(
        R"("subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":")", user,
        "\"}]");
    const std::string rules =
        paths.empty() ? ""
                      : base::StrCat(R"(,{"nonResourceURLs":[)", paths, R"(],"verbs":["get"]})");
    ASSERT_EQ(server
                  .Post("/apis/rbac.authorization.k8s.io/v1/clusterroles",
                        Object(user, base::StrCat(R"(,"rules":[{"apiGroups":[""],"resources":)"
                                                  R"(["configmaps"],"verbs":["*"]})",
                                                  rules, "]")))
                  .status,
              201);
    ASSERT_EQ(
        server
            .Post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
                  Object(user, base::StrCat(R"(,"roleRef":{"apiGroup":"rbac.authorization.k8s.io",)"
                                            R"("kind":"ClusterRole","name":")",
                                            user, "\"},", subjects)))
            .status,
        201);
  }
};

TEST_F(TracesTest, TheHeaderLeadsToTheTrace) {
  TestServer server;
  ASSERT_EQ(server
                .Post("/api/v1/namespaces/default/limitranges",
                      Object("sizes", R"(,"spec":{"limits":[{"type":"Container",)"
                                      R"("default":{"cpu":"1"}}]})"))
                .status,
            201);
  ASSERT_EQ(server.Post("/api/v1/namespaces/default/serviceaccounts", Object("robot")).status, 201);
  const Answer made = server.Call("POST", "/api/v1/namespaces/default/pods",
                                  Object("web", R"(,"spec":{"serviceAccountName":"robot",)"
                                                R"("automountServiceAccountToken":false,)"
                                                R"("containers":[{"name":"a","image":"i"}]})"),
                                  As("", "full"));
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string path(made.headers.Get(kHeader));
  ASSERT_THAT(path, StartsWith("/debug/admission/"));

  const Answer trace = server.Get(path + "?format=json");
  ASSERT_EQ(trace.status, 200);
  EXPECT_EQ(trace["kind"].AsString(), "AdmissionTrace");
  EXPECT_EQ(trace["apiVersion"].AsString(), "portcullis.dev/v1");
  EXPECT_EQ(trace["request"]["name"].AsString(), "web");
  EXPECT_EQ(trace["verdict"]["code"].AsInt(), 201);
  EXPECT_EQ(trace["object"]["metadata"]["uid"].AsString(), made["metadata"]["uid"].AsString());
  EXPECT_EQ(trace["object"]["metadata"]["resourceVersion"].AsString(),
            made["metadata"]["resourceVersion"].AsString());
  EXPECT_THAT(trace.body, HasSubstr(R"({"path":"/spec/containers/0/resources",)"
                                    R"("setBy":"plugin/LimitRanger"})"));
  EXPECT_THAT(trace.body, HasSubstr(R"({"path":"/spec/containers/0/image","setBy":"client"})"));
  EXPECT_THAT(trace.body, HasSubstr(R"({"path":"/spec/dnsPolicy","setBy":"defaulting"})"));

  const Answer text = server.Get(path);
  EXPECT_EQ(text.headers.Get("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_THAT(text.body, StartsWith("create pods default/web by "));
  EXPECT_THAT(text.body, HasSubstr("spec.containers[0].resources"));
}

TEST_F(TracesTest, RefusalsAreTraced) {
  TestServer server;
  const Answer refused =
      server.Call("POST", "/api/v1/namespaces/nowhere/configmaps", Object("a"), As("", "summary"));
  ASSERT_EQ(refused.status, 404);
  const Answer trace = server.Get(base::StrCat(refused.headers.Get(kHeader), "?format=json"));
  EXPECT_EQ(trace["verdict"]["code"].AsInt(), 404);
  EXPECT_EQ(trace["verdict"]["reason"].AsString(), "NotFound");
  EXPECT_EQ(trace["verdict"]["message"].AsString(), refused.message());
  const auto steps = trace["steps"].elements();
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(steps.back()["plugin"].AsString(), "NamespaceLifecycle");
  EXPECT_EQ(steps.back()["outcome"].AsString(), "Denied");
}

TEST_F(TracesTest, WithoutTheHeaderNothingIsTraced) {
  TestServer server;
  const Answer made = server.Post(kConfigMaps, Object("a"));
  EXPECT_EQ(made.status, 201);
  EXPECT_FALSE(made.headers.Has(kHeader));
  EXPECT_EQ(server.Get("/debug/admission").status, 404);
  EXPECT_EQ(server.Get("/debug/admission/latest").status, 404);
}

TEST_F(TracesTest, TheHeaderHasTwoValues) {
  TestServer server;
  const Answer answer = server.Call("POST", kConfigMaps, Object("a"), As("", "verbose"));
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.message(),
            "invalid value of the header Portcullis-Trace: \"verbose\" (allowed: full, summary)");
  EXPECT_EQ(server.Get(base::StrCat(kConfigMaps, "/a")).status, 404);
}

TEST_F(TracesTest, OnlyAuthorizedUsersMayTrace) {
  TestServer server;
  Grant(server, "alice", "");
  Grant(server, "bob", R"("/debug/admission/*")");
  Grant(server, "carol", R"("/debug/admission","/debug/admission/*")");
  EXPECT_EQ(server.Call("POST", kConfigMaps, Object("a"), As("alice")).status, 201);
  const Answer refused = server.Call("POST", kConfigMaps, Object("b"), As("alice", "full"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(std::string(refused.message()),
              StartsWith("forbidden: User \"alice\" cannot get path \"/debug/admission/"));
  EXPECT_FALSE(refused.headers.Has(kHeader));
  EXPECT_EQ(server.Get(base::StrCat(kConfigMaps, "/b")).status, 404);

  const Answer made = server.Call("POST", kConfigMaps, Object("c"), As("bob", "full"));
  ASSERT_EQ(made.status, 201);
  const std::string path(made.headers.Get(kHeader));
  EXPECT_EQ(server.Call("GET", path, "", As("bob")).status, 200);
  EXPECT_EQ(server.Call("GET", path, "", As("alice")).status, 403);
  EXPECT_EQ(server.Call("GET", path, "", As("carol")).status, 200);
  EXPECT_EQ(server.Anonymous(path).status, 403);

  // The right to fetch traces without that to list them is for own ones.
  const Answer other = server.Call("POST", kConfigMaps, Object("d"), As("carol", "full"));
  EXPECT_EQ(server.Call("GET", other.headers.Get(kHeader), "", As("bob")).status, 404);
}

TEST_F(TracesTest, TheListNeedsItsOwnRight) {
  TestServer server([](server::Options& options) { options.admission_trace_history = 5; });
  Grant(server, "bob", R"("/debug/admission/*")");
  Grant(server, "carol", R"("/debug/admission","/debug/admission/*")");
  EXPECT_EQ(server.Call("GET", "/debug/admission", "", As("bob")).status, 403);
  EXPECT_EQ(server.Call("GET", "/debug/admission/latest", "", As("bob")).status, 404);
  EXPECT_EQ(server.Call("GET", "/debug/admission", "", As("carol")).status, 200);
  EXPECT_EQ(server.Call("GET", "/debug/admission/latest", "", As("carol")).status, 200);
  EXPECT_EQ(server.Anonymous("/debug/admission").status, 403);
  EXPECT_EQ(server.Call("POST", "/debug/admission", "{}").status, 405);
}

TEST_F(TracesTest, KeepsTheLastWrites) {
  TestServer server([](server::Options& options) { options.admission_trace_history = 3; });
  for (const char* name : {"a", "b", "c", "d"}) {
    const Answer made = server.Post(kConfigMaps, Object(name));
    ASSERT_EQ(made.status, 201);
    EXPECT_FALSE(made.headers.Has(kHeader));
    EXPECT_EQ(server.Get(base::StrCat(kConfigMaps, "/", name)).status, 200);
  }
  const Answer list = server.Get("/debug/admission?format=json");
  EXPECT_EQ(list["kind"].AsString(), "AdmissionTraceList");
  ASSERT_EQ(list["items"].size(), 3U);
  std::string names;
  for (const json::Value& item : list["items"].elements()) {
    names += item["request"]["name"].AsString();
    EXPECT_FALSE(item.Has("steps"));
  }
  EXPECT_EQ(names, "bcd");
  EXPECT_THAT(server.Get("/debug/admission").body, HasSubstr("configmaps default/d"));
  const std::string id(list["items"].elements()[1]["id"].AsString());
  EXPECT_THAT(server.Get("/debug/admission/" + id).body,
              StartsWith("create configmaps default/c by "));
  EXPECT_THAT(server.Get("/debug/admission/latest").body,
              StartsWith("create configmaps default/d by "));
  EXPECT_EQ(server.Get("/debug/admission/none").status, 404);
}

TEST_F(TracesTest, ShowNoContentsOfSecrets) {
  TestServer server([](server::Options& options) { options.admission_trace_history = 100; });
  constexpr std::string_view kWord = "aHVudGVyMg==";  // hunter2
  const std::string data = base::StrCat(R"(,"data":{"password":")", kWord, "\"}");
  const Answer made = server.Call("POST", kSecrets, Object("s", data), As("", "full"));
  ASSERT_EQ(made.status, 201);
  EXPECT_THAT(made.body, HasSubstr(std::string(kWord)));
  ASSERT_EQ(server
                .Patch(base::StrCat(kSecrets, "/s"), "application/merge-patch+json",
                       R"({"stringData":{"other":"hunter2"},"type":"other"})")
                .status,
            422);
  ASSERT_EQ(server.Post(kConfigMaps, Object("c", R"(,"data":{"x":"hunter2"})")).status, 201);
  std::string all = server.Get(base::StrCat(made.headers.Get(kHeader), "?format=json")).body;
  EXPECT_THAT(all, HasSubstr(R"({"path":"/data)"));
  const Answer list = server.Get("/debug/admission?format=json");
  all += list.body;
  for (const json::Value& item : list["items"].elements()) {
    const std::string path = base::StrCat("/debug/admission/", item["id"].AsString());
    all += server.Get(path).body + server.Get(path + "?format=json").body;
  }
  EXPECT_THAT(all, Not(HasSubstr(std::string(kWord))));
  EXPECT_THAT(all, Not(HasSubstr("hunter2")));
}

TEST_F(TracesTest, UpdatesTellTheStoredFromTheNew) {
  TestServer server;
  ASSERT_EQ(server.Post(kConfigMaps, Object("a", R"(,"data":{"x":"1","y":"1"})")).status, 201);
  const auto fields = [&](const Answer& answer) {
    std::string text;
    const Answer trace = server.Get(base::StrCat(answer.headers.Get(kHeader), "?format=json"));
    for (const json::Value& field : trace["fields"].elements()) {
      if (field["path"].AsString().starts_with("/data")) {
        text += base::StrCat(field["path"].AsString(), "=", field["setBy"].AsString(), " ");
      }
    }
    return text;
  };
  const std::string path = base::StrCat(kConfigMaps, "/a");
  net::Headers merge = As("", "full");
  merge.Set("Content-Type", "application/merge-patch+json");
  EXPECT_EQ(fields(server.Call("PATCH", path, R"({"data":{"x":"2"}})", merge)),
            "/data/x=client /data/y=stored ");
  EXPECT_EQ(
      fields(server.Call("PUT", path, Object("a", R"(,"data":{"x":"2","y":"3"})"), As("", "full"))),
      "/data/x=stored /data/y=client ");
}

TEST_F(TracesTest, DeletionsAreTraced) {
  TestServer server;
  for (const char* name : {"a", "b"}) {
    ASSERT_EQ(server.Post(kConfigMaps, Object(name)).status, 201);
  }
  const Answer gone = server.Call("DELETE", kConfigMaps, "", As("", "summary"));
  ASSERT_EQ(gone.status, 200);
  const Answer trace = server.Get(base::StrCat(gone.headers.Get(kHeader), "?format=json"));
  EXPECT_EQ(trace["request"]["verb"].AsString(), "deletecollection");
  EXPECT_THAT(trace.body, HasSubstr(R"("object":"default/b")"));
  EXPECT_FALSE(trace.document.root().Has("fields"));
}

}  // namespace
}  // namespace portcullis::testing
