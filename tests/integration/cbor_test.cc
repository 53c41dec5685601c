// SPDX-License-Identifier: Apache-2.0

// Clients that speak CBOR, with and without the feature gate.

#include <gtest/gtest.h>

#include "base/strings.h"
#include "cbor/reader.h"
#include "cbor/writer.h"
#include "harness/test_server.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis {
namespace {

using testing::Answer;
using testing::TestServer;

constexpr std::string_view kConfigMaps = "/api/v1/namespaces/default/configmaps";
constexpr std::string_view kCbor = "application/cbor";
constexpr std::string_view kTypes =
    "application/json, application/yaml, application/vnd.kubernetes.protobuf, application/cbor";

void EnableCbor(server::Options& options) { options.feature_gates["CBORServingAndStorage"] = true; }

std::string Encoded(std::string_view text) {
  json::Arena arena;
  std::string out(cbor::kSelfDescribed);
  cbor::Write(json::Parse(arena, text).value(), out);
  return out;
}

json::Value Decoded(json::Arena& arena, std::string_view body) {
  EXPECT_TRUE(body.starts_with(cbor::kSelfDescribed)) << body;
  const auto value = cbor::Parse(arena, body);
  EXPECT_TRUE(value.ok()) << value.status().message();
  return value.ok() ? *value : json::Value();
}

Answer Send(TestServer& server, std::string_view method, std::string_view path,
            std::string_view body, std::string_view type = kCbor) {
  return server.Call(method, path, body,
                     {{"Content-Type", std::string(type)}, {"Accept", std::string(kCbor)}});
}

Answer Get(TestServer& server, std::string_view path, std::string_view accept = kCbor) {
  return server.Call("GET", path, {}, {{"Accept", std::string(accept)}});
}

std::string MessageOf(const Answer& answer) {
  json::Arena arena;
  return std::string(Decoded(arena, answer.body)["message"].AsString());
}

constexpr std::string_view kMap =
    R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"binaryData":{"b":"AAEC"}})";

TEST(CborClients, CreateGetAndList) {
  TestServer server(EnableCbor);

  const Answer made = Send(server, "POST", kConfigMaps, Encoded(kMap));
  const Answer got = Get(server, base::StrCat(kConfigMaps, "/a"));
  const Answer list = Get(server, kConfigMaps);
  const Answer none = Get(server, base::StrCat(kConfigMaps, "?labelSelector=x"));
  const Answer json = server.Get(base::StrCat(kConfigMaps, "/a"));

  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.headers.Get("Content-Type"), kCbor);
  EXPECT_EQ(made.body, got.body);
  json::Arena arena;
  EXPECT_TRUE(Decoded(arena, got.body) == json.document.root());
  // Byte fields are bytes with tag 22.
  EXPECT_NE(got.body.find(std::string("\x41"
                                      "b\xd6\x43\0\1\2",
                                      7)),
            std::string::npos);
  const json::Value items = Decoded(arena, list.body)["items"];
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0]["binaryData"]["b"].AsString(), "AAEC");
  EXPECT_FALSE(items[0].Has("kind"));
  EXPECT_TRUE(Decoded(arena, none.body)["items"].is_array());
}

TEST(CborClients, EventsAreASequence) {
  TestServer server(EnableCbor);
  Send(server, "POST", kConfigMaps, Encoded(kMap));

  const Answer events = Get(server, base::StrCat(kConfigMaps,
                                                 "?watch=true&timeoutSeconds=1"
                                                 "&sendInitialEvents=true&allowWatchBookmarks=true"
                                                 "&resourceVersionMatch=NotOlderThan"));

  EXPECT_EQ(events.headers.Get("Content-Type"), "application/cbor-seq");
  const std::size_t second = events.body.rfind(std::string("\xd9\xd9\xf7\xa2"));
  ASSERT_NE(second, 0U);
  ASSERT_NE(second, std::string::npos);
  json::Arena arena;
  const json::Value added = Decoded(arena, std::string_view(events.body).substr(0, second));
  const json::Value bookmark = Decoded(arena, std::string_view(events.body).substr(second));
  EXPECT_EQ(added["type"].AsString(), "ADDED");
  EXPECT_EQ(added["object"]["binaryData"]["b"].AsString(), "AAEC");
  EXPECT_EQ(bookmark["type"].AsString(), "BOOKMARK");
}

TEST(CborClients, Apply) {
  TestServer server(EnableCbor);
  const std::string path = base::StrCat(kConfigMaps, "/a?fieldManager=m");

  const Answer made = Send(server, "PATCH", path, Encoded(kMap), "application/apply-patch+cbor");
  const Answer refused = Send(server, "PATCH", path, "\x81\x01", "application/apply-patch+cbor");

  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(MessageOf(refused),
            "error decoding YAML: cbor: cannot unmarshal array into Go value of type "
            "map[string]interface {}");
}

// Texts recorded from kube-apiserver.
TEST(CborClients, BodiesAreRefusedAsByTheGoDecoder) {
  TestServer server(EnableCbor);
  const auto message = [&](std::string_view body, std::string_view query = "") {
    return MessageOf(Send(server, "POST", base::StrCat(kConfigMaps, "?dryRun=All", query), body));
  };
  const auto with = [](std::string_view member) {
    return Encoded(base::StrCat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},)",
                                member, "}"));
  };
  constexpr std::string_view kUnrecognized =
      "the object provided is unrecognized (must be of type ConfigMap): unable to determine "
      "group/version/kind: ";
  constexpr std::string_view kUnhandled =
      "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: ";

  EXPECT_EQ(message(""), base::StrCat(kUnrecognized, "EOF (<empty>)"));
  EXPECT_EQ(message("\x1c"),
            base::StrCat(kUnrecognized,
                         "cbor: invalid additional information 28 for type positive integer (1c)"));
  EXPECT_EQ(message("\x81\x01"),
            base::StrCat(kUnrecognized,
                         "cbor: cannot unmarshal array into Go value of type v1.TypeMeta (cannot "
                         "decode CBOR array to struct without toarray option) (8101)"));
  EXPECT_EQ(message(with(R"("data":{"a":1})")),
            base::StrCat(kUnhandled,
                         "cbor: cannot unmarshal positive integer into Go struct field "
                         "v1.ConfigMap.data of type string"));
  EXPECT_EQ(message(with(R"("data":5)")),
            base::StrCat(kUnhandled,
                         "cbor: cannot unmarshal positive integer into Go struct field "
                         "v1.ConfigMap.data of type map[string]string"));
  EXPECT_EQ(message(with(R"("binaryData":{"a":"?"})")),
            base::StrCat(kUnhandled,
                         "cbor: failed to decode base64 from byte string: illegal base64 data at "
                         "input byte 0"));
  EXPECT_EQ(message(with(R"("foo":1)"), "&fieldValidation=Strict"),
            base::StrCat(kUnhandled,
                         "strict decoding error: cbor: found unknown field at map element index "
                         "3"));
  const Answer warned =
      Send(server, "POST", base::StrCat(kConfigMaps, "?dryRun=All"), with(R"("foo":1)"));
  EXPECT_EQ(warned.status, 201);
  ASSERT_EQ(warned.warnings().size(), 1U);
  EXPECT_EQ(warned.warnings()[0], R"(299 - "cbor: found unknown field at map element index 3")");
}

// Texts recorded from kube-apiserver.
TEST(CborClients, KeysThatAreNumbersNameNoField) {
  TestServer server(EnableCbor);
  const auto post = [&](std::string_view metadata, std::string_view data, std::string_view query) {
    const std::string body = base::StrCat(cbor::kSelfDescribed,
                                          "\xa5\x4a"
                                          "apiVersion\x42v1\x44kind\x49"
                                          "ConfigMap\x48metadata",
                                          metadata,
                                          "\x44"
                                          "data",
                                          data, "\x20\x41x");
    return Send(server, "POST", base::StrCat(kConfigMaps, "?dryRun=All", query), body);
  };
  constexpr std::string_view kNamed =
      "\xa1\x44name\x41"
      "a";
  constexpr std::string_view kNumbered =
      "\xa2\x44name\x41"
      "a\x01\x41x";
  constexpr std::string_view kUnhandled =
      "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: ";

  const Answer warned = post(kNamed, "\xa0", "");
  const Answer deeper = post(kNumbered, "\xa0", "&fieldValidation=Strict");
  const Answer of_data = post(kNamed, "\xa1\x01\x41x", "&fieldValidation=Ignore");

  EXPECT_EQ(warned.status, 201);
  ASSERT_EQ(warned.warnings().size(), 1U);
  EXPECT_EQ(warned.warnings()[0], R"(299 - "cbor: found unknown field at map element index 4")");
  EXPECT_EQ(
      MessageOf(deeper),
      base::StrCat(kUnhandled,
                   "strict decoding error: cbor: found unknown field at map element index 1"));
  EXPECT_EQ(MessageOf(of_data),
            base::StrCat(kUnhandled,
                         "cbor: cannot unmarshal positive integer into Go struct field "
                         "v1.ConfigMap.data of type string"));
}

TEST(CborClients, CustomResourcesSayOfWhatKindTheyAre) {
  TestServer server(EnableCbor);
  server.Post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", R"({
    "apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.example.com"},
    "spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"things","kind":"Thing"},
    "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}})");
  const auto refusal = [&](std::string_view text, std::string_view validation) {
    return MessageOf(Send(
        server, "POST",
        base::StrCat("/apis/example.com/v1/namespaces/default/things?fieldValidation=", validation),
        Encoded(text)));
  };
  constexpr std::string_view kNoKind =
      "the object provided is unrecognized (must be of type Thing): Object 'Kind' is missing in "
      "'55799(";

  for (const std::string_view validation : {"Strict", "Ignore"}) {
    EXPECT_EQ(refusal("{}", validation), base::StrCat(kNoKind, "{})' (d9d9f7a0)"));
    EXPECT_EQ(refusal(R"({"kind":5})", validation),
              base::StrCat(kNoKind, "{'kind': 5})' (d9d9f7a1446b696e6405)"));
    EXPECT_EQ(
        refusal(R"({"kind":"Thing"})", validation),
        "Thing in version \"\" cannot be handled as a Thing: Object 'apiVersion' is missing in "
        "'55799({'kind': 'Thing'})'");
  }
}

TEST(CborClients, TypesAreNegotiated) {
  TestServer server(EnableCbor);
  const std::string missing = base::StrCat(kConfigMaps, "/none");

  const Answer status = Get(server, missing);
  const Answer table = Get(server, missing, "application/cbor;as=Table;g=meta.k8s.io;v=v1");
  const Answer html = Get(server, missing, "text/html");
  const Answer stream = Get(server, base::StrCat(kConfigMaps, "?watch=1"), "application/yaml");
  const Answer posted = server.Call("POST", kConfigMaps, "x", {{"Content-Type", "text/plain"}});
  const Answer unknown = Get(server, "/api/v1/nothing");
  const Answer groups = Get(server, "/apis");
  const Answer resources = Get(server, "/apis/apps/v1");
  const Answer documents = Get(server, "/openapi/v3");
  const Answer document = Get(server, "/openapi/v3/apis/apps/v1");

  EXPECT_EQ(status.status, 404);
  EXPECT_EQ(status.headers.Get("Content-Type"), kCbor);
  EXPECT_EQ(MessageOf(status), R"(configmaps "none" not found)");
  EXPECT_EQ(table.message(), base::StrCat("only the following media types are accepted: ", kTypes));
  EXPECT_EQ(html.message(),
            base::StrCat("406: Not Acceptable\n\nAvailable representations: ", kTypes));
  EXPECT_EQ(stream.status, 406);
  EXPECT_NE(stream.body.find("application/cbor-seq"), std::string::npos);
  EXPECT_EQ(posted.message(),
            base::StrCat("the body of the request was in an unknown format - accepted media types "
                         "include: ",
                         kTypes));
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.headers.Get("Content-Type"), "application/json");
  EXPECT_EQ(groups.status, 406);
  EXPECT_EQ(resources.headers.Get("Content-Type"), kCbor);
  EXPECT_EQ(documents.status, 200);
  EXPECT_EQ(documents.headers.Get("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(document.status, 406);
}

TEST(CborClients, TheGateIsOffByDefault) {
  TestServer server;
  const auto send = [&](std::string_view method, std::string_view path, std::string_view type) {
    return server.Call(method, path, Encoded(kMap), {{"Content-Type", std::string(type)}}).status;
  };

  EXPECT_EQ(Get(server, kConfigMaps).status, 406);
  EXPECT_EQ(send("POST", kConfigMaps, kCbor), 415);
  EXPECT_EQ(
      send("PATCH", base::StrCat(kConfigMaps, "/a?fieldManager=m"), "application/apply-patch+cbor"),
      415);
}

}  // namespace
}  // namespace portcullis
