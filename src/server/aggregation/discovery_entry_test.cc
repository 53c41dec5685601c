// SPDX-License-Identifier: Apache-2.0

#include "server/aggregation/discovery_entry.h"

#include <gtest/gtest.h>

#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::server {
namespace {

json::Value Parsed(json::Arena& arena, std::string_view text) {
  const auto parsed = json::Parse(arena, text);
  return parsed.ok() ? *parsed : json::Value();
}

TEST(DiscoveryEntryTest, PutsSubresourcesBelowTheirResources) {
  json::Arena arena;
  const json::Value list = Parsed(arena, R"({"resources":[
      {"name":"a/status","namespaced":true,"kind":"A","verbs":["get"]},
      {"name":"a","singularName":"one","namespaced":true,"kind":"A","verbs":["list"],"shortNames":["x"]}]})");
  EXPECT_EQ(
      json::ToString(EntryOfLegacy(arena, list, "v1")),
      R"({"version":"v1","resources":[{"resource":"a","responseKind":{"group":"","version":"","kind":"A"},)"
      R"("scope":"Namespaced","singularResource":"one","verbs":["list"],"shortNames":["x"],)"
      R"("subresources":[{"subresource":"status","responseKind":{"group":"","version":"","kind":"A"},"verbs":["get"]}]}]})");
}

TEST(DiscoveryEntryTest, TellsNoVerbsOfAParentThatIsNotListed) {
  json::Arena arena;
  const json::Value list = Parsed(
      arena, R"({"resources":[{"name":"a/status","namespaced":true,"kind":"A","verbs":["get"]}]})");
  EXPECT_EQ(
      json::ToString(EntryOfLegacy(arena, list, "v1")),
      R"({"version":"v1","resources":[{"resource":"a","responseKind":{"group":"","version":"","kind":""},)"
      R"("scope":"Namespaced","singularResource":"","verbs":null,)"
      R"("subresources":[{"subresource":"status","responseKind":{"group":"","version":"","kind":"A"},"verbs":["get"]}]}]})");
}

TEST(DiscoveryEntryTest, LeavesOutUnknownFieldsAndFillsInKinds) {
  json::Arena arena;
  const json::Value entry =
      Parsed(arena, R"({"version":"v1","freshness":"Current","evil":1,"resources":[
      {"resource":"a","scope":"Cluster","singularResource":"","evil":{},"verbs":[]}]})");
  EXPECT_EQ(
      json::ToString(EntryOfAggregated(arena, entry)),
      R"({"version":"v1","resources":[{"resource":"a","responseKind":{"group":"","version":"","kind":""},)"
      R"("scope":"Cluster","singularResource":"","verbs":[]}]})");
}

TEST(DiscoveryEntryTest, TakesWhatIsNoDocumentForAnEmptyOne) {
  json::Arena arena;
  for (const std::string_view text :
       {"{}", "[]", "1", R"({"resources":{"a":[]}})", R"({"resources":[1,[],{}]})"}) {
    const json::Value value = Parsed(arena, text);
    EXPECT_EQ(EntryOfLegacy(arena, value, "v1")["version"].AsString(), "v1") << text;
    EXPECT_TRUE(EntryOfAggregated(arena, value).is_object()) << text;
  }
}

}  // namespace
}  // namespace portcullis::server
