// SPDX-License-Identifier: Apache-2.0

// Objects that etcd would not take: refused in its words, whatever made them large.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "harness/test_server.h"

namespace portcullis {
namespace {

using testing::Answer;
using testing::TestServer;

constexpr std::string_view kTooLarge = "etcdserver: request is too large";
constexpr std::string_view kConfigMaps = "/api/v1/namespaces/default/configmaps";
constexpr std::string_view kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr std::string_view kThings = "/apis/example.com/v1/namespaces/default/things";

std::string Definition(std::string_view properties) {
  return base::StrCat(
      R"({"metadata":{"name":"things.example.com"},"spec":{"group":"example.com",
          "scope":"Namespaced","names":{"plural":"things","kind":"Thing"},"versions":[{"name":"v1",
          "served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":)",
      properties, "}}}]}}");
}

std::string Thing(std::string_view name, std::string_view spec) {
  return base::StrCat(R"({"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":")", name,
                      R"("},"spec":)", spec, "}");
}

std::string Quoted(std::size_t size, char c = 'x') { return '"' + std::string(size, c) + '"'; }

std::string Repeated(std::string_view element, int count) {
  std::string list(1, '[');
  for (int i = 0; i < count; ++i) list += base::StrCat(i == 0 ? "" : ",", element);
  return list + "]";
}

void ExpectTooLarge(const Answer& answer) {
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.message(), kTooLarge);
  EXPECT_EQ(answer["reason"].AsString(), "");
  EXPECT_TRUE(answer["details"].is_null());
}

constexpr std::string_view kAnySpec =
    R"({"spec":{"type":"object","x-kubernetes-preserve-unknown-fields":true}})";

TEST(LargeObjects, AreRefusedAsEtcdRefusesThem) {
  TestServer server;
  ASSERT_EQ(server.Post(kDefinitions, Definition(kAnySpec)).status, 201);
  ASSERT_EQ(server.Post(kThings, Thing("a", "{}")).status, 201);

  const std::string large = Thing("a", base::StrCat(R"({"a":)", Quoted(1'600'000), "}"));
  ExpectTooLarge(server.Patch(base::StrCat(kThings, "/a"), "application/merge-patch+json", large));
  EXPECT_EQ(server.Get(base::StrCat(kThings, "/a"))["spec"].size(), 0U);
  ExpectTooLarge(
      server.Post(kThings, Thing("b", base::StrCat(R"({"a":)", Quoted(1'600'000), "}"))));
  EXPECT_EQ(server.Get(base::StrCat(kThings, "/b")).status, 404);
  EXPECT_EQ(
      server.Post(kThings, Thing("c", base::StrCat(R"({"a":)", Quoted(1'500'000), "}"))).status,
      201);
}

TEST(LargeObjects, ThatNoMessageHoldsAreRefusedByEtcdsClient) {
  TestServer server;
  ASSERT_EQ(server.Post(kDefinitions, Definition(kAnySpec)).status, 201);
  const Answer refused =
      server.Post(kThings, Thing("a", base::StrCat(R"({"a":)", Quoted(2'500'000), "}")));
  EXPECT_EQ(refused.status, 500);
  // kube-apiserver says 2500331 if group and name are six characters longer, each three times in
  // the request.
  EXPECT_EQ(refused.message(),
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max "
            "(2500313 vs. 2097152)");
}

TEST(LargeObjects, GoWithoutManagedFieldsIfThatHelps) {
  TestServer server;
  ASSERT_EQ(server.Post(kDefinitions, Definition(kAnySpec)).status, 201);
  // A member's name is in the object and once more in managedFields.
  std::string members;
  for (int i = 0; i < 1000; ++i) {
    members +=
        base::StrCat(i == 0 ? "" : ",", "\"k", std::to_string(i), std::string(1000, 'x'), "\":1");
  }
  const std::string spec = base::StrCat("{", members, "}");
  const Answer made = server.Post(kThings, Thing("a", spec));
  ASSERT_EQ(made.status, 201) << made.message();
  EXPECT_TRUE(made["metadata"]["managedFields"].is_null());
  const Answer changed =
      server.Patch(base::StrCat(kThings, "/a"), "application/merge-patch+json", Thing("a", spec));
  EXPECT_EQ(changed.status, 200) << changed.message();
}

// Protobuf has the characters themselves, where JSON has six for each.
TEST(LargeObjects, CountAsProtobuf) {
  TestServer server;
  const std::string data = Quoted(900'000, '<');
  const Answer made = server.Post(
      kConfigMaps, base::StrCat(R"({"metadata":{"name":"a"},"data":{"page.html":)", data, "}}"));
  EXPECT_EQ(made.status, 201) << made.message();
}

constexpr std::string_view kItemsWithDefaults = R"({"spec":{"type":"array","items":{"type":"object",
    "properties":{"d":{"type":"string","default":)";

TEST(LargeObjects, AreNotMadeByDefaults) {
  TestServer server;
  ASSERT_EQ(server
                .Post(kDefinitions,
                      Definition(base::StrCat(kItemsWithDefaults, Quoted(100'000), "}}}}}")))
                .status,
            201);
  ExpectTooLarge(server.Post(kThings, Thing("a", Repeated("{}", 20000))));
  ExpectTooLarge(
      server.Post(base::StrCat(kThings, "?dryRun=All"), Thing("a", Repeated("{}", 20000))));
  EXPECT_EQ(server.Post(kThings, Thing("b", Repeated("{}", 10))).status, 201);
  EXPECT_EQ(server.Get("/livez").status, 200);
}

TEST(LargeObjects, AreNotMadeByDefaultsThatComeLater) {
  TestServer server;
  ASSERT_EQ(
      server.Post(kDefinitions, Definition(base::StrCat(kItemsWithDefaults, "\"x\"}}}}}"))).status,
      201);
  ASSERT_EQ(server.Post(kThings, Thing("a", Repeated(R"({"d":"y"})", 20000))).status, 201);
  ASSERT_EQ(server.Post(kThings, Thing("b", Repeated("{}", 2))).status, 201);
  ASSERT_EQ(
      server
          .Patch(base::StrCat(kDefinitions, "/things.example.com"), "application/json-patch+json",
                 base::StrCat(R"([{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema)",
                              "/properties/spec/items/properties/e\",\"value\":",
                              R"({"type":"string","default":)", Quoted(100'000), "}}]"))
          .status,
      200);
  ExpectTooLarge(server.Get(base::StrCat(kThings, "/a")));
  EXPECT_EQ(server.Get(base::StrCat(kThings, "/b"))["spec"][0]["e"].AsString().size(), 100'000U);
}

}  // namespace
}  // namespace portcullis
