// SPDX-License-Identifier: Apache-2.0

#include "server/aggregation/merged_open_api.h"

#include <gtest/gtest.h>

#include "json/reader.h"

namespace portcullis::server {
namespace {

// As a kube-apiserver has merged it.
TEST(MergedOpenApiTest, TakesPathsOfTheVersionAndRenamesOtherDefinitions) {
  json::Arena arena;
  const auto theirs = json::Parse(arena, R"({"info":{"title":"theirs"},"paths":{
      "/version/":{},"/apis/other.io/v1/":{},
      "/apis/peer.io/v1/":{"get":{"a":{"$ref":"#/definitions/Status"},"b":{"$ref":"#/definitions/Used"}}}},
      "definitions":{"Used":{"type":"object"},"Unused":{"type":"object"},"Status":{"type":"theirs"}},
      "parameters":{"p":{"in":"query"}}})");
  ASSERT_TRUE(theirs.ok());
  const std::string part = OpenApiV2Of(*theirs, "/apis/peer.io/v1/");
  const auto merged = MergedOpenApiV2(
      R"({"swagger":"2.0","info":{"title":"ours"},"paths":{"/api/":{}},"definitions":{"Status":{"type":"ours"},"Unused":{"type":"object"}}})",
      {part});
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(
      *merged,
      R"({"swagger":"2.0","info":{"title":"ours"},"paths":{"/api/":{},"/apis/peer.io/v1/":{"get":{"a":)"
      R"({"$ref":"#/definitions/Status_v2"},"b":{"$ref":"#/definitions/Used"}}}},)"
      R"("definitions":{"Status":{"type":"ours"},"Status_v2":{"type":"theirs"},"Unused":{"type":"object"},)"
      R"("Used":{"type":"object"}},"parameters":{"p":{"in":"query"}}})");
}

TEST(MergedOpenApiTest, TakesNothingOfAServerWithoutThatVersion) {
  json::Arena arena;
  const auto theirs =
      json::Parse(arena, R"({"paths":{"/apis/peer.io/v2/":{}},"definitions":{"A":{}}})");
  EXPECT_EQ(OpenApiV2Of(*theirs, "/apis/peer.io/v1/"), "");
}

}  // namespace
}  // namespace portcullis::server
