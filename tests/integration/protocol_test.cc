// SPDX-License-Identifier: Apache-2.0

// What a client meets beside objects: paths, forms, limits, identities, watches.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/strings.h"
#include "harness/test_server.h"

namespace portcullis {
namespace {

using testing::Answer;
using testing::TestServer;

constexpr std::string_view kConfigMaps = "/api/v1/namespaces/default/configmaps";

TEST(Protocol, UnknownPathsAreToldApartFromUnknownResources) {
  TestServer server;

  EXPECT_EQ(server.Get("/nowhere").body, "404 page not found\n");
  EXPECT_EQ(server.Get("/apis/none.example/v1/things").body, "404 page not found\n");
  EXPECT_EQ(server.Get("/api/v1/nowhere").message(),
            "the server could not find the requested resource");
  EXPECT_EQ(server.Call("PUT", kConfigMaps, "{}").message(),
            "the server does not allow this method on the requested resource");
}

TEST(Protocol, ADocumentThatIsNotAcceptedIsRefused) {
  TestServer server;

  const Answer answer = server.Call("GET", kConfigMaps, {}, {{"Accept", "text/html"}});

  EXPECT_EQ(answer.status, 406);
}

TEST(Protocol, TablesAndMetadataAreMadeOnDemand) {
  TestServer server;
  server.Post(kConfigMaps, R"({"metadata":{"name":"a"},"data":{"x":"1"}})");

  const Answer table = server.Call("GET", kConfigMaps, {},
                                   {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  const Answer metadata =
      server.Call("GET", kConfigMaps, {},
                  {{"Accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}});

  EXPECT_EQ(table["kind"].AsString(), "Table");
  EXPECT_EQ(table["rows"][std::size_t{0}]["cells"][std::size_t{1}].AsInt(), 1);
  EXPECT_EQ(metadata["kind"].AsString(), "PartialObjectMetadataList");
  EXPECT_FALSE(metadata["items"][std::size_t{0}].Has("data"));
}

TEST(Protocol, OnlyAuthorizationForbidsBrowsersToSniff) {
  TestServer server;
  constexpr std::string_view kHeader = "X-Content-Type-Options";

  const Answer stranger = server.Anonymous("/api/v1/namespaces/default");
  const Answer protected_one = server.Delete("/api/v1/namespaces/default");

  EXPECT_EQ(stranger.status, 403);
  EXPECT_EQ(stranger.headers.Get(kHeader), "nosniff");
  EXPECT_EQ(protected_one.status, 403);
  EXPECT_FALSE(protected_one.headers.Has(kHeader));
}

TEST(Protocol, EachAnswerHasTheDirectivesOfTransportSecurity) {
  TestServer server([](server::Options& options) {
    options.strict_transport_security_directives = {"max-age=31536000", "includeSubDomains"};
  });
  for (const std::string_view path : {"/healthz", "/nowhere", "/api/v1/namespaces/default",
                                      "/api/v1/pods?timeout=x", "/openapi/v2"}) {
    EXPECT_EQ(server.Get(path).headers.Get("Strict-Transport-Security"),
              "max-age=31536000; includeSubDomains")
        << path;
    EXPECT_FALSE(server.Get(path).headers.Has("Access-Control-Allow-Origin"));
  }
}

TEST(Protocol, ScriptsOfAllowedOriginsMayReadAnswers) {
  TestServer server([](server::Options& options) {
    options.cors_allowed_origins = {R"(//example\.com(:|$))", "^none$"};
  });
  struct Case {
    std::string_view method, path;
    std::string origin;
    int status;
    bool allowed;
  };
  const Case cases[] = {
      {"GET", "/api/v1/namespaces/default", "https://example.com", 200, true},
      {"GET", "/api/v1/namespaces/default", "https://example.com:80", 200, true},
      {"GET", "/api/v1/namespaces/default", "https://other.com", 200, false},
      {"GET", "/api/v1/namespaces/default", "", 200, false},
      {"GET", "/api/v1/pods?timeout=x", "http://example.com", 400, false},
      {"GET", "/nowhere", "http://example.com", 404, true},
      {"OPTIONS", "/api/v1/namespaces/default", "http://example.com", 204, true},
      {"OPTIONS", "/nowhere", "http://example.com", 204, true},
      {"OPTIONS", "/api/v1/namespaces/default", "http://other.com", 405, false},
  };
  for (const auto& [method, path, origin, status, allowed] : cases) {
    net::Headers headers;
    if (!origin.empty()) headers.Set("Origin", origin);
    const Answer answer = server.Call(method, path, {}, headers);
    EXPECT_EQ(answer.status, status) << method << " " << path;
    EXPECT_EQ(answer.headers.Get("Access-Control-Allow-Origin"), allowed ? origin : "") << path;
    EXPECT_EQ(answer.headers.Get("Access-Control-Allow-Credentials"), allowed ? "true" : "");
    EXPECT_EQ(answer.headers.Get("Access-Control-Expose-Headers"), allowed ? "Date" : "");
    EXPECT_FALSE(answer.headers.Get("Audit-Id").empty() && status == 204);
  }
}

// As kube-apiserver, whose filter of timeouts stands before authentication.
TEST(Protocol, ARequestWhoseTimeIsOverIsNotLookedAt) {
  TestServer server;
  for (const std::string_view path : {"/api/v1/namespaces/default", "/api/v1/namespaces/none",
                                      "/nowhere", "/version", "/healthz", "/apis"}) {
    const std::string late = base::StrCat(path, "?timeout=1ns");
    for (const Answer& answer : {server.Get(late), server.Anonymous(late)}) {
      EXPECT_EQ(answer.status, 504) << path;
      EXPECT_EQ(answer.headers.Get("Content-Type"), "text/plain; charset=utf-8");
      EXPECT_EQ(answer.message(), "Timeout: request did not complete within the allotted timeout");
    }
    EXPECT_NE(server.Get(base::StrCat(path, "?timeout=0s")).status, 504) << path;
  }
  const std::string late = base::StrCat(kConfigMaps, "?timeout=1ns");
  EXPECT_EQ(server.Post(late, R"({"metadata":{"name":"late"}})").status, 504);
  EXPECT_EQ(server.Get(base::StrCat(kConfigMaps, "/late")).status, 404);
}

// Unlike kube-apiserver, in which each path becomes a series of metrics.
TEST(Protocol, NamesThatClientsMakeUpAreNoLabels) {
  TestServer server;
  for (const std::string_view path : {"/made-up", "/api/v1/made-up", "/apis/made-up/v1/a",
                                      "/api/v1/namespaces/a/pods/b/made-up"}) {
    EXPECT_EQ(server.Anonymous(base::StrCat(path, "?timeout=1ns")).status, 504) << path;
  }
  EXPECT_EQ(server.Anonymous("/version?timeout=1ns").status, 504);
  const std::string page = server.Get("/metrics").body;
  EXPECT_EQ(page.find("made-up"), page.npos);
  EXPECT_NE(
      page.find(R"(apiserver_request_terminations_total{code="504",component="apiserver",)"
                R"(group="",resource="",scope="",subresource="/version",verb="GET",version=""} 1)"),
      page.npos);
}

// As kube-apiserver without a kubelet.
TEST(Protocol, PodsThatDoNotRunHaveNoLog) {
  TestServer server;
  server.Post("/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})");
  const std::string pods = "/api/v1/namespaces/default/pods";
  server.Post(pods,
              R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  server.Post(pods, R"({"metadata":{"name":"b"},"spec":{"nodeName":"n","containers":[
                        {"name":"c","image":"i"}]}})");
  const Answer none = server.Get(pods + "/a/log");
  EXPECT_EQ(none.status, 204);
  EXPECT_EQ(none.body, "");
  EXPECT_FALSE(none.headers.Has("Content-Type"));
  for (const std::string_view path : {"/b/log", "/b/exec?command=x&stdout=1"}) {
    EXPECT_EQ(server.Get(base::StrCat(pods, path)).message(), "pods \"n\" not found") << path;
  }
}

TEST(Protocol, NotEachStatusHasATable) {
  TestServer server;
  const auto status = [&](std::string_view path) {
    return server
        .Call("GET", path, {}, {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}})
        .status;
  };
  EXPECT_EQ(status("/api/v1/namespaces/default/status"), 200);
  EXPECT_EQ(status("/apis/apiregistration.k8s.io/v1/apiservices/v1."), 200);
  EXPECT_EQ(status("/apis/apiregistration.k8s.io/v1/apiservices/v1./status"), 406);
}

TEST(Protocol, AListOfMetadataWithoutItemsIsNull) {
  TestServer server;
  const std::string metadata = "as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

  for (const std::string_view form : {"application/json;", "application/yaml;"}) {
    const Answer none = server.Call("GET", "/api/v1/namespaces/empty/configmaps", {},
                                    {{"Accept", base::StrCat(form, metadata)}});
    EXPECT_TRUE(none.body.ends_with("\"items\":null}\n") ||
                none.body.find("\nitems: null\n") != std::string::npos)
        << none.body;
  }
}

TEST(Protocol, YamlGoesInAndOut) {
  TestServer server;

  const Answer made =
      server.Call("POST", kConfigMaps, "metadata:\n  name: a\ndata:\n  x: 'yes'\n",
                  {{"Content-Type", "application/yaml"}, {"Accept", "application/yaml"}});

  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_NE(made.body.find("x: \"yes\""), std::string::npos) << made.body;
}

TEST(Protocol, ABodyOverTheLimitIsRefused) {
  TestServer server;
  const std::string large(4 * 1024 * 1024, 'x');

  const Answer answer =
      server.Post(kConfigMaps, R"({"metadata":{"name":"a"},"data":{"x":")" + large + R"("}})");

  EXPECT_EQ(answer.status, 413);
}

TEST(Protocol, AnonymousMayAskForTheVersionOnly) {
  TestServer server;

  EXPECT_EQ(server.Anonymous("/version").status, 200);
  const Answer refused = server.Anonymous(kConfigMaps);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(
      refused.message(),
      "configmaps is forbidden: User \"system:anonymous\" cannot list resource \"configmaps\" "
      "in API group \"\" in the namespace \"default\"");
}

TEST(Protocol, ImpersonationIsJudgedByTheOtherUsersRights) {
  TestServer server;

  const Answer refused = server.Call("GET", kConfigMaps, {}, {{"Impersonate-User", "joe"}});

  EXPECT_EQ(refused.status, 403);
}

TEST(Protocol, RequestsOverTheLimitAreAskedToComeAgain) {
  TestServer server([](server::Options& options) {
    options.max_mutating_requests_inflight = 1;
    options.request_timeout = std::chrono::seconds(5);
  });
  // Many at a time over one lane: some must be turned away, none may be lost.
  int made = 0;
  int refused = 0;
  std::vector<std::thread> clients;
  std::vector<int> codes(16);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    clients.emplace_back([&, i] {
      codes[i] =
          server.Post(kConfigMaps, R"({"metadata":{"name":"c)" + std::to_string(i) + R"("}})")
              .status;
    });
  }
  for (std::thread& client : clients) client.join();
  for (int code : codes) {
    if (code == 201) ++made;
    if (code == 429) ++refused;
  }

  EXPECT_EQ(made + refused, static_cast<int>(codes.size()));
  EXPECT_EQ(server.Get(kConfigMaps)["items"].size(), static_cast<std::size_t>(made));
}

TEST(Protocol, AWatchTellsOfEachChange) {
  TestServer server;
  const Answer list = server.Get(kConfigMaps);
  const std::string version(list["metadata"]["resourceVersion"].AsString());

  const auto events =
      server.Watch(std::string(kConfigMaps) + "?watch=true&resourceVersion=" + version, 3, [&] {
        server.Post(kConfigMaps, R"({"metadata":{"name":"a"}})");
        server.Patch(std::string(kConfigMaps) + "/a", "application/merge-patch+json",
                     R"({"data":{"x":"1"}})");
        server.Delete(std::string(kConfigMaps) + "/a");
      });

  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0]["type"].AsString(), "ADDED");
  EXPECT_EQ(events[1]["type"].AsString(), "MODIFIED");
  EXPECT_EQ(events[1]["object"]["data"]["x"].AsString(), "1");
  EXPECT_EQ(events[2]["type"].AsString(), "DELETED");
}

TEST(Protocol, AnObjectThatLeavesTheSelectionOfAWatchIsDeletedToIt) {
  TestServer server;
  server.Post(kConfigMaps, R"({"metadata":{"name":"a","labels":{"pick":"me"}}})");
  const std::string version(server.Get(kConfigMaps)["metadata"]["resourceVersion"].AsString());

  const auto events = server.Watch(
      std::string(kConfigMaps) + "?watch=true&labelSelector=pick%3Dme&resourceVersion=" + version,
      1, [&] {
        server.Patch(std::string(kConfigMaps) + "/a", "application/merge-patch+json",
                     R"({"metadata":{"labels":null}})");
      });

  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["type"].AsString(), "DELETED");
  // As it was in the selection, in the version of the write that took it out.
  const json::Value metadata = events[0]["object"]["metadata"];
  EXPECT_EQ(metadata["labels"]["pick"].AsString(), "me");
  EXPECT_NE(metadata["resourceVersion"].AsString(), version);
}

TEST(Protocol, AStreamedListEndsWithABookmark) {
  TestServer server;
  server.Post(kConfigMaps, R"({"metadata":{"name":"a"}})");

  const auto events = server.Watch(std::string(kConfigMaps) +
                                       "?watch=true&sendInitialEvents=true&allowWatchBookmarks="
                                       "true&resourceVersionMatch=NotOlderThan",
                                   2);

  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]["type"].AsString(), "ADDED");
  EXPECT_EQ(events[1]["type"].AsString(), "BOOKMARK");
  EXPECT_EQ(events[1]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"].AsString(),
            "true");
}

constexpr std::string_view kStreamedList =
    "?watch=true&timeoutSeconds=1&sendInitialEvents=true&allowWatchBookmarks=true&"
    "resourceVersionMatch=NotOlderThan";

TEST(Protocol, ABookmarkHasWhatGoWritesOfAnEmptyObject) {
  TestServer server;

  const auto events =
      server.Watch(std::string("/api/v1/namespaces/default/pods") + std::string(kStreamedList), 1);

  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(events[0]["object"]["spec"].Has("containers"));
  EXPECT_TRUE(events[0]["object"].Has("status"));
}

TEST(Protocol, ABookmarkOfAWatchOfTablesIsATableWithOneRow) {
  TestServer server;

  const Answer event = server.Call("GET", std::string(kConfigMaps) + std::string(kStreamedList), {},
                                   {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});

  EXPECT_EQ(event["type"].AsString(), "BOOKMARK");
  const json::Value row = event["object"]["rows"][std::size_t{0}];
  EXPECT_EQ(event["object"]["columnDefinitions"].size(), 3u);
  EXPECT_EQ(row["cells"][std::size_t{2}].AsString(), "<unknown>");
  EXPECT_EQ(row["object"]["kind"].AsString(), "PartialObjectMetadata");
  EXPECT_EQ(row["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"].AsString(),
            "true");
}

TEST(Protocol, ATableOfNoRowsIsNullForKindsWithoutColumnsOfTheirOwn) {
  TestServer server;
  const auto table = [&](std::string_view path) {
    return server.Call("GET", path, {},
                       {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  };

  EXPECT_TRUE(table("/api/v1/namespaces/default/limitranges")["rows"].is_null());
  EXPECT_TRUE(table("/api/v1/namespaces/default/pods")["rows"].is_array());
}

TEST(Protocol, AWatchEndsWhenItsTimeIsUp) {
  TestServer server;

  const auto events = server.Watch(std::string(kConfigMaps) + "?watch=true&timeoutSeconds=1", 1);

  EXPECT_TRUE(events.empty());
}

TEST(Protocol, LargeAnswersAreCompressedForThoseWhoAskForIt) {
  TestServer server;
  const std::string data(200 * 1024, 'x');
  server.Post(kConfigMaps, R"({"metadata":{"name":"a"},"data":{"x":")" + data + R"("}})");

  // The client asks for gzip by itself and undoes it.
  const Answer list = server.Get(kConfigMaps);

  EXPECT_EQ(list["items"][std::size_t{0}]["data"]["x"].AsString().size(), data.size());
  EXPECT_EQ(list.headers.Get("Vary"), "Accept-Encoding");
}

TEST(Protocol, ATimeoutThatIsNoDurationIsRefused) {
  TestServer server;

  const Answer refused = server.Get(std::string(kConfigMaps) + "?timeout=soon");

  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.message(),
            "invalid timeout specified in the request URL - time: invalid duration \"soon\"");
  EXPECT_EQ(server.Get(std::string(kConfigMaps) + "?timeout=30s").status, 200);
}

TEST(Protocol, DiscoveryComesInBothForms) {
  TestServer server;

  const Answer legacy = server.Get("/apis");
  const Answer aggregated = server.Call(
      "GET", "/apis", {},
      {{"Accept",
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"}});

  EXPECT_EQ(legacy["kind"].AsString(), "APIGroupList");
  EXPECT_EQ(aggregated["kind"].AsString(), "APIGroupDiscoveryList");
  EXPECT_EQ(aggregated.headers.Get("Content-Type"),
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
}

TEST(Protocol, AggregatedDiscoveryIsNotSentAgain) {
  constexpr std::string_view kForm = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  TestServer server;
  const auto ask = [&](std::string_view path, std::string_view type, const std::string& tag) {
    return server.Call(
        "GET", path, {},
        {{"Accept", std::string(type) + std::string(kForm)}, {"If-None-Match", tag}});
  };
  for (const std::string_view path : {"/api", "/apis"}) {
    const Answer first = ask(path, "application/json", "");
    const std::string tag(first.headers.Get("ETag"));
    EXPECT_EQ(first.status, 200);
    EXPECT_EQ(first.headers.Get("Vary"), "Accept");
    EXPECT_EQ(first.headers.Get("Cache-Control"), "public");
    EXPECT_EQ(tag.size(), 130U) << tag;
    // Of all forms one, of each server that serves the same, too.
    EXPECT_EQ(ask(path, "application/vnd.kubernetes.protobuf", "").headers.Get("ETag"), tag);
    TestServer other;
    EXPECT_EQ(other.Call("GET", path, {}, {{"Accept", "application/json" + std::string(kForm)}})
                  .headers.Get("ETag"),
              tag);
    const Answer kept = ask(path, "application/json", tag);
    EXPECT_EQ(kept.status, 304);
    EXPECT_EQ(kept.body, "");
    EXPECT_EQ(kept.headers.Get("ETag"), tag);
    EXPECT_FALSE(kept.headers.Has("Content-Type"));
    // Compared as a text.
    for (const std::string& others : {"W/" + tag, std::string("*"), "\"a\", " + tag}) {
      EXPECT_EQ(ask(path, "application/json", others).status, 200) << others;
    }
  }
}

TEST(Protocol, TheFirstAggregatedFormOfDiscoveryIsGone) {
  TestServer server;
  const std::string form =
      "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
  const auto ask = [&](const std::string& accept) {
    return server.Call("GET", "/apis", {}, {{"Accept", accept}});
  };

  EXPECT_EQ(ask(form).status, 406);
  EXPECT_EQ(ask(form + ",application/json")["kind"].AsString(), "APIGroupList");
}

TEST(Protocol, TheIssuersDocumentsComeInOneTypeEach) {
  TestServer server;
  const auto ask = [&](std::string_view path, const std::string& accept) {
    return server.Call("GET", path, {}, {{"Accept", accept}});
  };

  EXPECT_EQ(ask("/openid/v1/jwks", "application/jwk-set+json").status, 200);
  EXPECT_EQ(ask("/openid/v1/jwks", "*/*").headers.Get("Cache-Control"), "public, max-age=3600");
  EXPECT_EQ(ask("/openid/v1/jwks", "application/json").message(),
            "406: Not Acceptable\n\nAvailable representations: application/jwk-set+json");
  EXPECT_EQ(ask("/.well-known/openid-configuration", "text/html").status, 406);
}

TEST(Protocol, ADocumentOfOpenApiMayBeKeptUnderItsOwnHashAlone) {
  TestServer server;

  const Answer index = server.Get("/openapi/v3");
  const std::string url(index["paths"]["apis/apps/v1"]["serverRelativeURL"].AsString());
  const Answer moved = server.Get("/openapi/v3/apis/apps/v1?hash=older");

  EXPECT_EQ(moved.status, 301);
  EXPECT_EQ(moved.headers.Get("Location"), url);
  EXPECT_EQ(moved.headers.Get("Cache-Control"), "no-cache, private");
  EXPECT_EQ(server.Get(url).headers.Get("Cache-Control"), "public, immutable");
  EXPECT_EQ(server.Get("/openapi/v3/apis/apps/v1?hash=").status, 200);
}

TEST(Protocol, OpenApiIsNotSentAgainAndComesInParts) {
  TestServer server;
  const auto ask = [&](std::string_view path, net::Headers headers) {
    return server.Call("GET", path, {}, std::move(headers));
  };
  for (const std::string_view path : {"/openapi/v2", "/openapi/v3/apis/apps/v1"}) {
    const Answer first = server.Get(path);
    const std::string tag(first.headers.Get("ETag"));
    EXPECT_EQ(tag.size(), 130U) << tag;
    EXPECT_EQ(first.headers.Get("Vary"), "Accept");
    EXPECT_EQ(ask(path, {{"If-None-Match", "W/" + tag}}).status, 304);
    EXPECT_EQ(
        ask(path, {{"If-Modified-Since", std::string(first.headers.Get("Last-Modified"))}}).status,
        304);
    EXPECT_EQ(ask(path, {{"Range", "bytes=1-3"}}).body, first.body.substr(1, 3));
    EXPECT_EQ(ask(path, {{"Accept", "application/*"}}).body, first.body);
  }
  EXPECT_TRUE(
      server.Get("/openapi/v3")["paths"]["apis/apps/v1"]["serverRelativeURL"].AsString().ends_with(
          base::StrCat("?hash=",
                       base::Trim(server.Get("/openapi/v3/apis/apps/v1").headers.Get("ETag"))
                           .substr(1, 128))));
  EXPECT_FALSE(server.Get("/openapi/v3").headers.Has("ETag"));
  const Answer protobuf = ask(
      "/openapi/v2", {{"Accept", "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"}});
  EXPECT_EQ(protobuf.headers.Get("ETag"), server.Get("/openapi/v2").headers.Get("ETag"));
  const Answer third =
      ask("/openapi/v3/apis/apps/v1",
          {{"Accept", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"}});
  EXPECT_EQ(third.headers.Get("Content-Type"),
            "application/com.github.proto-openapi.spec.v3.v1.0+protobuf");
  EXPECT_EQ(third.headers.Get("ETag"), server.Get("/openapi/v3/apis/apps/v1").headers.Get("ETag"));
  // {openapi = 1, info = 2 {title = 1 …
  EXPECT_EQ(third.body.substr(0, 21),
            "\n\x05"
            "3.0.0\x12\x12\n\nKubernetes");
  // v2 alone is compressed.
  const net::Headers gzip = {{"Accept-Encoding", "gzip"}};
  EXPECT_EQ(ask("/openapi/v2", gzip).headers.Get("Content-Encoding"), "gzip");
  EXPECT_FALSE(ask("/openapi/v3/apis/apps/v1", gzip).headers.Has("Content-Encoding"));
  EXPECT_EQ(ask("/openapi/v2", {{"Accept", "text/plain"}}).status, 406);
  EXPECT_EQ(ask("/openapi/v3/apis/apps/v1", {{"Accept", ","}}).body, "");
}

TEST(Protocol, HealthIsListedCheckByCheck) {
  TestServer server;

  const Answer ready = server.Get("/readyz?verbose&exclude=etcd&exclude=nope");

  EXPECT_EQ(ready.status, 200);
  EXPECT_THAT(ready.body, ::testing::StartsWith("[+]ping ok\n[+]log ok\n[+]etcd excluded: ok\n"
                                                "[+]etcd-readiness ok\n[+]informer-sync ok\n"
                                                "[+]poststarthook/"));
  EXPECT_THAT(ready.body, ::testing::EndsWith("[+]shutdown ok\nwarn: some health checks cannot be "
                                              "excluded: no matches for \"nope\"\nreadyz check "
                                              "passed\n"));
  EXPECT_EQ(server.Get("/livez/etcd").body, "ok");
  EXPECT_THAT(server.Get("/livez?verbose").body,
              ::testing::StartsWith("[+]ping ok\n[+]log ok\n[+]loopback-serving-certificate ok\n"
                                    "[+]etcd ok\n[+]poststarthook/"));
  EXPECT_EQ(server.Get("/readyz/poststarthook/apiservice-wait-for-first-sync").body, "ok");
  EXPECT_EQ(server.Get("/readyz/loopback-serving-certificate").status, 404);
}

TEST(Protocol, MetricsAreThoseOfKubeApiserver) {
  TestServer server;
  ASSERT_EQ(
      server.Post("/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"a"}})").status,
      201);
  ASSERT_EQ(server.Get("/api/v1/namespaces/default/configmaps/a").status, 200);

  const Answer page = server.Get("/metrics");

  for (
      const std::string_view line :
      {R"(apiserver_request_body_size_bytes_count{group="",resource="configmaps",verb="create"} 1)",
       R"(apiserver_request_sli_duration_seconds_count{component="apiserver",group="",resource="configmaps",scope="resource",subresource="",verb="GET",version="v1"} 1)",
       R"(apiserver_response_sizes_count{component="apiserver",group="",resource="configmaps",scope="resource",subresource="",verb="GET",version="v1"} 1)",
       R"(apiserver_resource_objects{group="",resource="nodes"} 0)",
       R"(apiserver_storage_objects{resource="deployments.apps"} 0)",
       "# TYPE process_cpu_seconds_total counter",
       "kubernetes_build_info{build_date=", R"(authorization_attempts_total{result="allowed"} )",
       R"(authenticated_user_requests{username="other"} )"}) {
    EXPECT_THAT(page.body, ::testing::HasSubstr(line));
  }
  // Sizes are those of answers that read.
  EXPECT_THAT(page.body,
              ::testing::Not(::testing::HasSubstr(
                  R"(apiserver_response_sizes_count{component="apiserver",group="",)"
                  R"(resource="configmaps",scope="resource",subresource="",verb="POST")")));
}

// What no handler takes would let clients make up values of labels.
TEST(Protocol, MetricsCountWhatHandlersTake) {
  TestServer server;
  EXPECT_EQ(server.Get("/made-up").status, 404);
  EXPECT_EQ(server.Get("/api/v1/madeups").status, 404);
  EXPECT_EQ(server.Call("MADEUP", "/api/v1/namespaces/default/configmaps").status, 405);
  EXPECT_EQ(server.Call("DELETE", "/api/v1/namespaces/default/configmaps?dryRun=All").status, 200);
  EXPECT_EQ(server.Get("/livez").status, 200);

  const std::string page = server.Get("/metrics").body;

  EXPECT_THAT(page, ::testing::Not(::testing::HasSubstr("made")));
  EXPECT_THAT(page, ::testing::Not(::testing::HasSubstr("MADE")));
  for (
      const std::string_view line :
      {R"(apiserver_request_total{code="200",component="apiserver",dry_run="All",group="",resource="configmaps",scope="namespace",subresource="",verb="DELETE",version="v1"} 1)",
       R"(apiserver_request_total{code="200",component="",dry_run="",group="",resource="",scope="",subresource="/livez",verb="GET",version=""} 1)",
       R"(apiserver_request_filter_duration_seconds_count{filter="authorization"} )",
       R"(authentication_duration_seconds_count{result="success"} )"}) {
    EXPECT_THAT(page, ::testing::HasSubstr(line));
  }
}

}  // namespace
}  // namespace portcullis
