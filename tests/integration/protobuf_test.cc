// SPDX-License-Identifier: Apache-2.0

// Clients that speak protobuf.

#include <gtest/gtest.h>

#include "base/strings.h"
#include "engine/codec/protobuf.h"
#include "harness/test_server.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis {
namespace {

using testing::Answer;
using testing::TestServer;

constexpr std::string_view kConfigMaps = "/api/v1/namespaces/default/configmaps";
constexpr std::string_view kProtobuf = "application/vnd.kubernetes.protobuf";

// The object of a body, and the bytes of each of a watch's events.
json::Value Read(json::Arena& arena, std::string_view body) {
  const auto envelope = engine::ReadProtobufEnvelope(body);
  EXPECT_TRUE(envelope.ok()) << body;
  if (!envelope.ok()) return {};
  const auto version = api::ParseGroupVersion(envelope->api_version);
  const auto object = engine::ReadProtobufObject(
      arena, {version->group, version->version, std::string(envelope->kind)}, envelope->raw,
      nullptr);
  EXPECT_TRUE(object.ok());
  return object.ok() ? *object : json::Value();
}

std::vector<std::string_view> Frames(std::string_view body) {
  std::vector<std::string_view> frames;
  while (body.size() >= 4) {
    std::size_t size = 0;
    for (int i = 0; i < 4; ++i) size = size << 8 | static_cast<unsigned char>(body[std::size_t(i)]);
    frames.push_back(body.substr(4, size));
    body.remove_prefix(std::min(body.size(), size + 4));
  }
  return frames;
}

Answer Get(TestServer& server, std::string_view path, std::string_view accept = kProtobuf) {
  return server.Call("GET", path, {}, {{"Accept", std::string(accept)}});
}

TEST(ProtobufClients, CreateAndGet) {
  TestServer server;
  json::Arena arena;
  std::string body;
  const auto object = json::Parse(
      arena, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":"1"}})");
  ASSERT_TRUE(engine::WriteProtobuf(*object, body).ok());

  const Answer made =
      server.Call("POST", kConfigMaps, body,
                  {{"Content-Type", std::string(kProtobuf)}, {"Accept", std::string(kProtobuf)}});
  const Answer got = Get(server, std::string(kConfigMaps) + "/a");
  const Answer json = server.Get(std::string(kConfigMaps) + "/a");

  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.headers.Get("Content-Type"), kProtobuf);
  EXPECT_EQ(made.body, got.body);
  EXPECT_EQ(json["data"]["x"].AsString(), "1");
  std::string written;
  ASSERT_TRUE(engine::WriteProtobuf(json.document.root(), written).ok());
  EXPECT_EQ(got.body, written);
}

// A write is answered from what it has stored, a read from what the store has.
TEST(ProtobufClients, WritesAreAnsweredWithWhatIsStored) {
  TestServer server;
  const std::string path = "/apis/apps/v1/namespaces/default/deployments";
  for (const std::string replicas : {"", "2", "0"}) {
    json::Arena arena;
    std::string body;
    const auto object = json::Parse(
        arena, R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","labels":)"
               R"({"z":"1","b":""}},"spec":{)" +
                   (replicas.empty() ? "" : R"("replicas":)" + replicas + ",") +
                   R"("selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":)"
                   R"({"a":"b"}},"spec":{"containers":[{"name":"c","image":"i","resources":)"
                   R"({"requests":{"memory":"1024Mi","cpu":"1000m"}},"livenessProbe":)"
                   R"({"httpGet":{"port":"http"}}}]}}}})");
    ASSERT_TRUE(object.ok()) << object.status().message();
    ASSERT_TRUE(engine::WriteProtobuf(*object, body).ok());
    const Answer answer =
        server.Call(replicas.empty() ? "POST" : "PUT", replicas.empty() ? path : path + "/a", body,
                    {{"Content-Type", std::string(kProtobuf)}, {"Accept", std::string(kProtobuf)}});
    EXPECT_EQ(answer.status, replicas.empty() ? 201 : 200) << answer.body;
    const Answer json = server.Get(path + "/a");
    EXPECT_EQ(json["spec"]["replicas"].AsInt(9), replicas.empty() ? 1 : replicas.front() - '0');
    std::string written;
    ASSERT_TRUE(engine::WriteProtobuf(json.document.root(), written).ok());
    EXPECT_TRUE(answer.body == written);
    EXPECT_TRUE(Get(server, path + "/a").body == written);
  }
}

// An object that would be too large for etcd is stored without its managedFields.
TEST(ProtobufClients, AWriteOfWhatIsNearlyTooLargeIsAnsweredAsItIsStored) {
  TestServer server;
  std::string data;
  for (int i = 0; i < 82000; ++i) {
    data += base::StrCat(i > 0 ? "," : "", "\"", std::to_string(100000 + i), "\":\"\"");
  }
  const std::string path = "/api/v1/namespaces/default/configmaps";
  const Answer answer = server.Call(
      "POST", path,
      base::StrCat(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{)",
                   data, "}}"),
      {{"Content-Type", "application/json"}, {"Accept", std::string(kProtobuf)}});
  ASSERT_EQ(answer.status, 201) << answer.body;
  const Answer json = server.Get(path + "/a");
  EXPECT_FALSE(json["metadata"].Has("managedFields"));
  std::string written;
  ASSERT_TRUE(engine::WriteProtobuf(json.document.root(), written).ok());
  EXPECT_TRUE(answer.body == written);
  EXPECT_TRUE(Get(server, path + "/a").body == written);
}

TEST(ProtobufClients, ListsAreWholeHoweverLarge) {
  TestServer server;
  const std::string large(200 * 1024, 'x');
  for (int i = 0; i < 12; ++i) {
    server.Post(kConfigMaps, R"({"metadata":{"name":"a)" + std::to_string(i) +
                                 R"("},"data":{"x":")" + large + R"("}})");
  }
  for (std::string_view path : {"?limit=3", ""}) {
    const Answer list = Get(server, std::string(kConfigMaps) + std::string(path));
    json::Arena arena;
    const json::Value value = Read(arena, list.body);
    EXPECT_EQ(value["kind"].AsString(), "ConfigMapList");
    EXPECT_EQ(value["items"].size(), path.empty() ? 12U : 3U);
    std::string written;
    ASSERT_TRUE(engine::WriteProtobuf(value, written).ok());
    EXPECT_TRUE(written == list.body);
  }
}

TEST(ProtobufClients, EventsAreFrames) {
  TestServer server;
  server.Post(kConfigMaps, R"({"metadata":{"name":"a"}})");
  const std::string watch = std::string(kConfigMaps) +
                            "?watch=true&timeoutSeconds=1&sendInitialEvents=true"
                            "&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan";

  const Answer events = Get(server, watch);
  const Answer metadata =
      Get(server, watch, std::string(kProtobuf) + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1");

  EXPECT_EQ(events.headers.Get("Content-Type"), "application/vnd.kubernetes.protobuf;stream=watch");
  const auto frames = Frames(events.body);
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0].substr(0, 7),
            "\x0a\x05"
            "ADDED");
  EXPECT_EQ(frames[1].substr(0, 10),
            "\x0a\x08"
            "BOOKMARK");
  EXPECT_NE(frames[1].find("k8s.io/initial-events-end"), std::string::npos);
  const std::string_view body = frames[0].substr(frames[0].find("k8s"));
  json::Arena arena;
  EXPECT_EQ(Read(arena, body)["metadata"]["name"].AsString(), "a");
  ASSERT_EQ(Frames(metadata.body).size(), 2U);
  EXPECT_NE(metadata.body.find("PartialObjectMetadata"), std::string::npos);
}

TEST(ProtobufClients, ErrorsAreWrittenAsAccepted) {
  TestServer server;
  const std::string missing = std::string(kConfigMaps) + "/none";

  const Answer answer = Get(server, missing);
  json::Arena arena;
  const json::Value status = Read(arena, answer.body);
  const Answer refused = Get(server, missing, "application/cbor");
  const Answer table =
      Get(server, missing, std::string(kProtobuf) + ";as=Table;g=meta.k8s.io;v=v1");
  const Answer stream = Get(server, std::string(kConfigMaps) + "?watch=1", "application/yaml");

  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.headers.Get("Content-Type"), kProtobuf);
  EXPECT_EQ(status["kind"].AsString(), "Status");
  EXPECT_EQ(status["message"].AsString(), R"(configmaps "none" not found)");
  EXPECT_EQ(refused.status, 406);
  EXPECT_EQ(refused.message(),
            "406: Not Acceptable\n\nAvailable representations: application/json, "
            "application/yaml, application/vnd.kubernetes.protobuf");
  EXPECT_EQ(table.status, 406);
  EXPECT_EQ(table.body[1], '\n') << "indented: " << table.body;
  EXPECT_EQ(stream.status, 406);
  EXPECT_EQ(stream.headers.Get("Content-Type"), "application/yaml");
  EXPECT_NE(stream.body.find("application/json;stream=watch,"), std::string::npos);
}

TEST(ProtobufClients, OfCustomResourcesGetTheMetadataAtMost) {
  TestServer server;
  server.Post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", R"({
      "metadata": {"name": "things.example.com"},
      "spec": {"group": "example.com", "scope": "Cluster",
               "names": {"plural": "things", "kind": "Thing"},
               "versions": [{"name": "v1", "served": true, "storage": true,
                             "schema": {"openAPIV3Schema": {"type": "object"}}}]}})");
  constexpr std::string_view kThings = "/apis/example.com/v1/things";
  server.Post(kThings, R"({"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"a"}})");

  const Answer refused = Get(server, kThings);
  const Answer json = Get(server, kThings, std::string(kProtobuf) + ", application/json");
  const Answer metadata =
      Get(server, std::string(kThings) + "/a",
          std::string(kProtobuf) + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1");

  json::Arena arena;
  EXPECT_EQ(refused.status, 406);
  EXPECT_EQ(Read(arena, refused.body)["reason"].AsString(), "NotAcceptable");
  EXPECT_EQ(json.headers.Get("Content-Type"), "application/json");
  EXPECT_EQ(json["items"].size(), 1U);
  EXPECT_EQ(metadata.status, 200);
  EXPECT_EQ(Read(arena, metadata.body)["metadata"]["name"].AsString(), "a");
}

TEST(ProtobufClients, Discover) {
  TestServer server;
  json::Arena arena;

  const json::Value versions = Read(arena, Get(server, "/api").body);
  const json::Value groups = Read(arena, Get(server, "/apis").body);
  const json::Value resources = Read(arena, Get(server, "/apis/apps/v1").body);
  const Answer aggregated =
      Get(server, "/apis",
          std::string(kProtobuf) + ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");

  EXPECT_EQ(versions["versions"].size(), 1U);
  EXPECT_GT(groups["groups"].size(), 10U);
  EXPECT_EQ(resources["groupVersion"].AsString(), "apps/v1");
  EXPECT_EQ(aggregated.headers.Get("Content-Type"),
            "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;"
            "as=APIGroupDiscoveryList");
  EXPECT_GT(Read(arena, aggregated.body)["items"].size(), 10U);
  EXPECT_EQ(Get(server, "/version").status, 406);
  EXPECT_EQ(Get(server, "/openapi/v2").status, 406);
  EXPECT_EQ(Get(server, "/openapi/v2").body, "");
  EXPECT_FALSE(Get(server, "/openapi/v2").headers.Has("Content-Type"));
}

TEST(ProtobufClients, OfReviewsMayGetTheMetadata) {
  TestServer server;
  json::Arena arena;
  const auto review = [&](std::string_view accept) {
    return server.Call("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                       R"({"spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}})",
                       {{"Content-Type", "application/json"}, {"Accept", std::string(accept)}});
  };
  const json::Value whole = Read(arena, review(kProtobuf).body);
  const json::Value metadata = Read(
      arena, review(std::string(kProtobuf) + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1").body);

  EXPECT_TRUE(whole["status"]["allowed"].AsBool());
  EXPECT_EQ(metadata["kind"].AsString(), "PartialObjectMetadata");
  EXPECT_EQ(review("application/json;as=Table;g=meta.k8s.io;v=v1").status, 406);
}

}  // namespace
}  // namespace portcullis
