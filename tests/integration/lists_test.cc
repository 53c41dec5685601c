// SPDX-License-Identifier: Apache-2.0

// What lists and watches say about options that do not go together, tokens that cannot be read and
// versions that are not there (apiserver, storage; apimachinery, internalversion/validation).

#include <gtest/gtest.h>

#include <string>

#include "base/strings.h"
#include "harness/test_server.h"
#include "json/writer.h"
#include "json/yaml.h"

namespace portcullis {
namespace {

using testing::Answer;
using testing::TestServer;

constexpr std::string_view kMaps = "/api/v1/namespaces/default/configmaps";

void Make(TestServer& server, std::string_view name) {
  server.Post(kMaps, base::StrCat(R"({"metadata":{"name":")", name, R"("}})"));
}

std::string With(std::string_view query) { return base::StrCat(kMaps, "?", query); }

std::string Token(std::string_view json) {
  return With(base::StrCat("continue=", base::Base64UrlEncode(json)));
}

TEST(Lists, OptionsThatDoNotGoTogether) {
  TestServer server;
  struct Row {
    std::string_view query;
    int status;
    std::string_view message;
  };
  constexpr std::string_view kInvalid = "ListOptions.meta.k8s.io \"\" is invalid: ";
  const Row rows[] = {
      {"watch=1&resourceVersionMatch=NotOlderThan", 422,
       "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless "
       "sendInitialEvents is provided"},
      {"watch=1&sendInitialEvents=true", 422,
       "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch "
       "to NotOlderThan"},
      {"watch=1&sendInitialEvents=true&resourceVersionMatch=Exact", 422,
       "[resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch "
       "to NotOlderThan, resourceVersionMatch: Unsupported value: \"Exact\": supported values: "
       "\"NotOlderThan\"]"},
      {"watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=x", 422,
       "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is "
       "provided"},
      {"sendInitialEvents=false", 422,
       "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"},
      {"resourceVersionMatch=Exact", 422,
       "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion "
       "is provided"},
      {"resourceVersionMatch=Exact&resourceVersion=0", 422,
       "resourceVersionMatch: Forbidden: resourceVersionMatch \"exact\" is forbidden for "
       "resourceVersion \"0\""},
      {"resourceVersionMatch=Foo&resourceVersion=1", 422,
       "resourceVersionMatch: Unsupported value: \"Foo\": supported values: \"Exact\", "
       "\"NotOlderThan\", \"\""},
      {"limit=abc", 400, "strconv.ParseInt: parsing \"abc\": invalid syntax"},
      {"limit=", 400, "strconv.ParseInt: parsing \"\": invalid syntax"},
      {"timeoutSeconds=99999999999999999999", 400,
       "strconv.ParseInt: parsing \"99999999999999999999\": value out of range"},
      // What cannot be read is told first.
      {"fieldSelector=a&resourceVersionMatch=Exact", 400,
       "invalid selector: 'a'; can't understand 'a'"},
      {"resourceVersion=x", 400,
       "invalid resource version: resourceVersion: Invalid value: \"x\": strconv.ParseUint: "
       "parsing \"x\": invalid syntax"},
      {"watch=1&resourceVersion=x", 500,
       "resourceVersion: Invalid value: \"x\": strconv.ParseUint: parsing \"x\": invalid syntax"},
  };
  for (const Row& row : rows) {
    const Answer answer = server.Get(With(row.query));
    EXPECT_EQ(answer.status, row.status) << row.query << answer.body;
    const bool invalid = row.status == 422;
    EXPECT_EQ(answer.message(), base::StrCat(invalid ? kInvalid : "", row.message)) << row.query;
  }
  EXPECT_EQ(server.Get(With("limit=-1")).status, 200);
}

TEST(Lists, ABadVersionIsToldOfAnObjectThatThereIsNot) {
  TestServer server;
  const std::string absent = "/api/v1/namespaces/default/configmaps/absent";
  EXPECT_EQ(server.Get(absent).status, 404);
  const Answer answer = server.Get(absent + "?resourceVersion=x");
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(
      answer.message(),
      "resourceVersion: Invalid value: \"x\": strconv.ParseUint: parsing \"x\": invalid syntax");
}

TEST(Lists, ABadVersionOfAnEventIsToldByTheStore) {
  TestServer server;
  const Answer bad = server.Get("/api/v1/namespaces/default/events/x?resourceVersion=y");
  EXPECT_EQ(bad.status, 400);
  EXPECT_EQ(bad.message(),
            "invalid resource version: resourceVersion: Invalid value: \"y\": strconv.ParseUint: "
            "parsing \"y\": invalid syntax");
  const Answer large = server.Get("/api/v1/namespaces/default/events/x?resourceVersion=99999999");
  EXPECT_EQ(large.status, 504);
  EXPECT_FALSE(large["details"].Has("retryAfterSeconds"));
}

TEST(Lists, TokensThatCannotBeRead) {
  TestServer server;
  const auto said = [&](const std::string& path) {
    return std::string(server.Get(path).message());
  };
  const auto bad = [](std::string_view why) {
    return base::StrCat("invalid continue token: continue key is not valid", why);
  };
  EXPECT_EQ(said(With("continue=ab*cd")), bad(": illegal base64 data at input byte 2"));
  EXPECT_EQ(said(With("continue=abcde")), bad(": illegal base64 data at input byte 4"));
  EXPECT_EQ(said(Token(R"({"v":"v9","rv":5,"start":"a"})")),
            bad(": server does not recognize this encoded version v9"));
  EXPECT_EQ(said(Token(R"({"v":"meta.k8s.io/v1","start":"a"})")),
            bad(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)"));
  EXPECT_EQ(said(Token(R"({"v":"meta.k8s.io/v1","rv":5})")),
            bad(": encoded start key empty (version meta.k8s.io/v1)"));
  EXPECT_EQ(said(Token(R"({"v":"meta.k8s.io/v1","rv":5,"start":"../a"})")), bad(": ../a"));
  constexpr std::string_view kWrong = ": json: cannot unmarshal ";
  EXPECT_EQ(
      said(Token(R"({"v":"meta.k8s.io/v1","rv":"5","start":"a"})")),
      bad(base::StrCat(kWrong, "string into Go struct field continueToken.rv of type int64")));
  EXPECT_EQ(
      said(Token(R"({"v":1,"rv":5,"start":"a"})")),
      bad(base::StrCat(kWrong, "number into Go struct field continueToken.v of type string")));
  EXPECT_EQ(said(Token("[]")),
            bad(base::StrCat(kWrong, "array into Go value of type storage.continueToken")));
  EXPECT_EQ(said(Token(R"({"v":"meta.k8s.io/v1","rv":5,"start":"a"})") + "&resourceVersion=3"),
            "specifying resource version is not allowed when using continue");
}

TEST(Lists, PagesAndVersions) {
  TestServer server;
  for (std::string_view name : {"a", "b", "c"}) Make(server, name);
  const Answer page = server.Get(With("limit=2"));
  const std::string revision(page["metadata"]["resourceVersion"].AsString());
  Make(server, "d");
  // A page of a state is of exactly that state.
  EXPECT_EQ(server.Get(With("limit=10&resourceVersion=" + revision))["items"].size(),
            server.Get(With("resourceVersion=" + revision))["items"].size() - 1);
  const std::string ahead = "resourceVersion=99999999";
  const Answer newer = server.Get(With(ahead));
  EXPECT_EQ(newer.status, 504);
  EXPECT_TRUE(
      newer.message().starts_with("Timeout: Too large resource version: 99999999, current: "));
  EXPECT_EQ(newer["details"]["retryAfterSeconds"].AsInt(), 1);
  EXPECT_EQ(newer["details"]["causes"][std::size_t{0}]["reason"].AsString(),
            "ResourceVersionTooLarge");
  // What the watch cache would answer has a time to try again after, what the store would has none.
  const auto retry = [&](const std::string& path) {
    return server.Get(path)["details"]["retryAfterSeconds"].AsInt();
  };
  const std::string name = "&fieldSelector=metadata.name%3Da";
  EXPECT_EQ(retry(With(ahead + "&resourceVersionMatch=Exact")), 1);
  EXPECT_EQ(retry(With(ahead + "&limit=1")), 1);
  EXPECT_EQ(retry(With(ahead + name)), 1);
  EXPECT_EQ(retry("/api/v1/configmaps?" + ahead + "&resourceVersionMatch=Exact" + name), 1);
  EXPECT_EQ(retry(With(ahead + "&resourceVersionMatch=Exact" + name)), 0);
  EXPECT_EQ(retry(With(ahead + "&limit=5" + name)), 0);
  EXPECT_EQ(retry("/api/v1/events?" + ahead), 0);
}

// The key at which the token of the page goes on.
std::string StartOf(const Answer& page) {
  const auto token = base::Base64UrlDecode(page["metadata"]["continue"].AsString());
  if (!token) return "";
  const auto start = base::Cut(*token, R"("start":")");
  return start ? std::string(start->second) : "";
}

TEST(Lists, TokensAreKeysBelowTheCollectionThatIsListed) {
  TestServer server;
  for (std::string_view name : {"a", "b"}) Make(server, name);
  constexpr std::string_view kEvents = "/api/v1/namespaces/default/events";
  for (std::string_view name : {"e", "f"}) {
    server.Post(kEvents, base::StrCat(R"({"metadata":{"name":")", name,
                                      R"("},"involvedObject":{"namespace":"default"}})"));
  }
  EXPECT_EQ(StartOf(server.Get("/api/v1/namespaces?limit=1")), R"(/default\u0000"})");
  EXPECT_EQ(StartOf(server.Get(With("limit=1"))), R"(/a\u0000"})");
  const Answer first = server.Get("/api/v1/configmaps?limit=1");
  EXPECT_EQ(StartOf(first), R"(/default/a\u0000"})");
  // Events are in no watch cache.
  EXPECT_EQ(StartOf(server.Get(base::StrCat(kEvents, "?limit=1"))), R"(e\u0000"})");
  EXPECT_EQ(StartOf(server.Get("/api/v1/events?limit=1")), R"(default/e\u0000"})");
}

TEST(Lists, PagesGoOnWithAndWithoutASlashInTheToken) {
  TestServer server;
  for (std::string_view name : {"a", "b", "c"}) Make(server, name);
  for (std::string_view start : {"/a\\u0000", "a\\u0000"}) {
    const Answer rest =
        server.Get(Token(base::StrCat(R"({"v":"meta.k8s.io/v1","rv":-1,"start":")", start, "\"}")));
    const std::string message = std::string(start) + rest.body;
    EXPECT_EQ(rest["items"][std::size_t{0}]["metadata"]["name"].AsString(), "b") << message;
  }
}

TEST(Lists, AStartWithoutAZeroByteIsAKeyOfThePage) {
  TestServer server;
  for (std::string_view name : {"a", "b", "b-c", "c"}) Make(server, name);
  const std::pair<std::string_view, std::size_t> rows[] = {
      {"/a", 4}, {"b", 3}, {"/b-", 2}, {"/b-c", 2}, {"/c", 1}, {"/d", 0}, {"/", 4}};
  for (const auto& [start, count] : rows) {
    const Answer rest =
        server.Get(Token(base::StrCat(R"({"v":"meta.k8s.io/v1","rv":-1,"start":")", start, "\"}")));
    EXPECT_EQ(rest["items"].size(), count) << start << rest.body;
  }
}

TEST(Lists, OfOneNameHaveNoPagesUnlessATokenIsGiven) {
  TestServer server;
  for (std::string_view name : {"a", "b"}) Make(server, name);
  constexpr std::string_view kOne = "fieldSelector=metadata.name%3Da&";
  const Answer one = server.Get(With(base::StrCat(kOne, "limit=1&resourceVersion=1")));
  EXPECT_EQ(one["items"].size(), 1U);
  EXPECT_FALSE(one["metadata"].Has("continue"));
  EXPECT_FALSE(server.Get(With(base::StrCat(kOne, "limit=1")))["metadata"].Has("continue"));
  for (std::string_view collection : {kMaps, std::string_view("/api/v1/configmaps")}) {
    EXPECT_EQ(
        server.Get(base::StrCat(collection, "?", kOne, "continue=x")).message(),
        "invalid continue token: continue key is not valid: illegal base64 data at input byte 0");
  }
  const std::string behind =
      base::StrCat(Token(R"({"v":"meta.k8s.io/v1","rv":-1,"start":"a\u0000"})"), "&", kOne);
  EXPECT_EQ(server.Get(behind)["items"].size(), 0U);
  EXPECT_EQ(server.Get(behind + "resourceVersion=1").message(),
            "specifying resource version is not allowed when using continue");
}

TEST(Lists, AnOptionIsReadAfterThoseBeforeIt) {
  TestServer server;
  EXPECT_EQ(server.Get(With("limit=x&timeoutSeconds=y")).message(),
            "strconv.ParseInt: parsing \"y\": invalid syntax");
}

TEST(Lists, AWatchReadsItsVersionBeforeItLooksForAMediaType) {
  TestServer server;
  const auto status = [&](std::string_view version) {
    return server
        .Call("GET", With(base::StrCat("watch=1&resourceVersion=", version)), {},
              {{"Accept", "application/yaml"}})
        .status;
  };
  EXPECT_EQ(status("x"), 500);
  EXPECT_EQ(status("1"), 406);
}

TEST(Lists, OfADeletionAtAVersionAreOfExactlyThat) {
  TestServer server;
  const std::string before(server.Get(kMaps)["metadata"]["resourceVersion"].AsString());
  Make(server, "a");
  const Answer none = server.Delete(With(base::StrCat("resourceVersion=", before)));
  EXPECT_EQ(none.status, 200);
  EXPECT_EQ(none["items"].size(), 0U) << none.body;
}

TEST(Lists, OfJobsToDeleteWarnBeforeTheyAreRead) {
  TestServer server;
  const Answer refused = server.Delete("/apis/batch/v1/namespaces/default/jobs?continue=x");
  EXPECT_EQ(refused.status, 400);
  EXPECT_TRUE(refused.headers.Get("Warning").starts_with("299 - \"child pods are preserved"));
}

TEST(Lists, AVersionThatIsDeprecatedIsSoInRefusalsToo) {
  TestServer server;
  const Answer refused = server.Call("GET", "/api/v1/namespaces/default/endpoints/web", {},
                                     {{"Accept", "application/json;as=Other;v=v1;g=meta.k8s.io"}});
  EXPECT_EQ(refused.status, 406);
  EXPECT_EQ(refused.headers.Get("Warning"),
            "299 - \"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 "
            "EndpointSlice\"");
}

TEST(Lists, WhatTheWatchCacheHasIsNotCut) {
  TestServer server;
  for (std::string_view name : {"a", "b", "c"}) Make(server, name);
  const Answer all = server.Get(With("limit=1&resourceVersion=0"));
  EXPECT_EQ(all["items"].size(), server.Get(kMaps)["items"].size());
  EXPECT_FALSE(all["metadata"].Has("continue"));
}

TEST(Lists, ADeletedPageTellsWhereItEnded) {
  TestServer server;
  for (std::string_view name : {"a", "b", "c"}) Make(server, name);
  const Answer part = server.Delete(With("limit=2"));
  EXPECT_EQ(part["items"].size(), 2U);
  EXPECT_FALSE(part["metadata"]["continue"].AsString().empty());
  const Answer rest = server.Delete(kMaps);
  EXPECT_FALSE(rest["metadata"].Has("continue"));
  EXPECT_EQ(server.Get(kMaps)["items"].size(), 0U);
}

TEST(Lists, FieldsThatNobodySelectsBy) {
  TestServer server;
  const auto said = [&](std::string_view collection, std::string_view field) {
    return std::string(
        server.Get(base::StrCat(collection, "?fieldSelector=", field, "%3Dx")).message());
  };
  EXPECT_EQ(said("/api/v1/configmaps", "data.a"),
            "\"data.a\" is not a known field selector: only \"metadata.name\", "
            "\"metadata.namespace\"");
  EXPECT_EQ(said("/api/v1/pods", "spec.foo"), "field label not supported: spec.foo");
  EXPECT_EQ(said("/api/v1/nodes", "metadata.namespace"),
            "field label not supported: metadata.namespace");
  // ReplicaSets are selected by no field, though they keep one for it.
  EXPECT_EQ(said("/apis/apps/v1/replicasets", "status.replicas"),
            "\"status.replicas\" is not a known field selector: only \"metadata.name\", "
            "\"metadata.namespace\"");
  EXPECT_EQ(said("/apis/batch/v1/jobs", "spec.foo"),
            "field label \"spec.foo\" not supported for Job");
  EXPECT_EQ(server
                .Get("/api/v1/watch/namespaces/default/configmaps/a?fieldSelector="
                     "metadata.name%3Db")
                .message(),
            "fieldSelector metadata.name doesn't match requested name");
}

TEST(Lists, FieldsThatAreNotSetCountAsTheirTypesSay) {
  TestServer server;
  server.Post("/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})");
  server.Post("/api/v1/namespaces/default/pods",
              R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  server.Post("/api/v1/nodes", R"({"metadata":{"name":"a"}})");
  server.Post("/apis/batch/v1/namespaces/default/jobs", R"({"metadata":{"name":"a"},"spec":{
      "template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})");
  server.Post("/api/v1/namespaces/default/events", R"({"metadata":{"name":"a"},
      "involvedObject":{"namespace":"default"},"reportingComponent":"r"})");
  const auto found = [&](std::string_view collection, std::string_view selector) {
    return server.Get(base::StrCat(collection, "?fieldSelector=", selector))["items"].size();
  };

  EXPECT_EQ(found("/api/v1/pods", "spec.hostNetwork%3Dfalse,status.podIP%3D"), 1u);
  EXPECT_EQ(found("/api/v1/pods", "spec.hostNetwork%3Dtrue"), 0u);
  EXPECT_EQ(found("/api/v1/nodes", "spec.unschedulable%3Dfalse"), 1u);
  EXPECT_EQ(found("/apis/batch/v1/jobs", "status.successful%3D0"), 1u);
  EXPECT_EQ(found("/apis/batch/v1/jobs", "status.successful%3D1"), 0u);
  EXPECT_EQ(found("/api/v1/events", "source%3Dr"), 1u);
}

// Made piece by piece, they are the same text as one made whole.
TEST(Lists, YamlIsMadeObjectByObject) {
  TestServer server;
  const auto yaml = [&](std::string_view path) {
    net::Headers headers;
    headers.Set("Accept", "application/yaml");
    const Answer answer = server.Call("GET", path, "", headers);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.headers.Get("Content-Type"), "application/yaml");
    return answer.body;
  };
  const std::string none = yaml(std::string(kMaps));
  EXPECT_TRUE(none.starts_with("apiVersion: v1\nitems: []\nkind: ConfigMapList\nmetadata:\n"));
  for (const char* name : {"a", "b", "c"}) {
    const std::string data(700'000, *name);
    ASSERT_EQ(server
                  .Post(std::string(kMaps), R"({"metadata":{"name":")" + std::string(name) +
                                                R"("},"data":{"k":")" + data + R"( x\ny"}})")
                  .status,
              201);
  }
  json::Arena arena;
  const std::string text = yaml(std::string(kMaps));
  const auto list = json::ParseYaml(arena, text);
  ASSERT_TRUE(list.ok()) << list.status().message();
  EXPECT_EQ((*list)["items"].size(), 3U);
  EXPECT_EQ(json::ToYaml(*list), text);
}

TEST(Watches, TheEndOfWhatIsThere) {
  TestServer server;
  Make(server, "a");
  // Also without being asked for: a watch from nowhere begins with what is there.
  for (std::string_view query :
       {"watch=1&allowWatchBookmarks=true", "watch=1&allowWatchBookmarks=true&resourceVersion=0",
        "watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch="
        "NotOlderThan"}) {
    const auto lines = server.Watch(With(query), 2);
    ASSERT_EQ(lines.size(), 2U) << query;
    EXPECT_EQ(lines[0]["type"].AsString(), "ADDED");
    EXPECT_EQ(lines[1]["type"].AsString(), "BOOKMARK");
    EXPECT_EQ(lines[1]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"].AsString(),
              "true");
  }
}

// The object of a bookmark is an empty one of the internal type, whose generation is an annotation of the
// versions.
TEST(Watches, ABookmarkOfDaemonSets) {
  TestServer server;
  const auto lines = server.Watch("/apis/apps/v1/daemonsets?watch=1&allowWatchBookmarks=true", 1);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(
      json::ToString(lines[0]["object"]["metadata"]["annotations"]),
      R"({"deprecated.daemonset.template.generation":"0","k8s.io/initial-events-end":"true"})");
}

TEST(Watches, AVersionOfTheFuture) {
  TestServer server;
  const auto lines = server.Watch(
      With("watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion="
           "99999999"),
      2);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["type"].AsString(), "ERROR");
  EXPECT_EQ(lines[0]["object"]["code"].AsInt(), 504);
}

TEST(Lists, ComponentStatusesAreNotStored) {
  TestServer server;
  EXPECT_EQ(server.Get("/api/v1/componentstatuses?fieldSelector=metadata.name%3Dx").body,
            R"({"kind":"ComponentStatusList","apiVersion":"v1","metadata":{},"items":[]})"
            "\n");
  EXPECT_EQ(server.Get("/api/v1/componentstatuses?resourceVersion=x").status, 200);
  const Answer absent = server.Get("/api/v1/componentstatuses/x?resourceVersion=x");
  EXPECT_EQ(absent.status, 404);
  EXPECT_EQ(absent.message(), R"(componentstatus "x" not found)");
  EXPECT_EQ(absent["details"]["kind"].AsString(), "componentstatus");
  const Answer watch = server.Get("/api/v1/componentstatuses?watch=1");
  EXPECT_EQ(watch.status, 405);
  EXPECT_EQ(watch.message(), R"(watch is not supported on resources of kind "componentstatuses")");
}

}  // namespace
}  // namespace portcullis
