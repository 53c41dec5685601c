// SPDX-License-Identifier: Apache-2.0

#include "api/catalog/import.h"

#include <gtest/gtest.h>

#include "api/catalog/catalog.h"
#include "api/schema/decode.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::api::catalog {
namespace {

TEST(ImportTest, MakesACatalogOfASmallServer) {
  json::Arena arena;
  ImportInput input;
  input.discovery = json::Parse(arena, R"({"aggregated":{"/apis":{"items":[
      {"metadata":{"name":"g.example"},"versions":[{"version":"v1","resources":[
        {"resource":"things","responseKind":{"kind":"Thing"},"scope":"Namespaced",
         "singularResource":"thing","verbs":["create","get"]}]}]}]}}})")
                        .value();
  input.openapi_v2 = json::Parse(arena, R"({"definitions":{"example.g.v1.Thing":{
      "type":"object","required":["size"],"properties":{
        "kind":{"type":"string"},"size":{"type":"integer","format":"int32"},
        "when":{"type":"string","format":"date-time"},
        "names":{"type":"array","items":{"type":"string"},
          "x-kubernetes-patch-strategy":"merge"}},
      "x-kubernetes-group-version-kind":[{"group":"g.example","version":"v1","kind":"Thing"}]}}})")
                         .value();
  input.go_facts = "type example.g.v1.Thing\n  size int32 -\n  when *v1.Time e When\n";
  const auto file = Import(input);
  ASSERT_TRUE(file.ok()) << file.status().message();
  const auto catalog = Catalog::Load(*file, {});
  ASSERT_TRUE(catalog.ok()) << catalog.status().message();
  const ResourceInfo* things = (*catalog)->Find("g.example", "v1", "things");
  ASSERT_NE(things, nullptr);
  ASSERT_NE(things->schema, nullptr);
  EXPECT_EQ(things->schema->fields[0].name, "size");
  EXPECT_TRUE(things->schema->FindField("when")->pointer);
  EXPECT_TRUE(things->schema->FindField("names")->patch_merge);
  const auto decoded =
      schema::Decode(arena, *things->schema, json::Parse(arena, R"({"kind":"Thing"})").value());
  EXPECT_EQ(json::ToString(*decoded), R"({"size":0,"kind":"Thing"})");
}

TEST(ImportTest, TellsWhatIsMissing) {
  json::Arena arena;
  ImportInput input;
  EXPECT_EQ(Import(input).status().message(), "no OpenAPI definitions were given");
  input.go_facts = "nonsense\n";
  EXPECT_EQ(Import(input).status().message(),
            "facts, line 1: want: type, kind, selectable, column or deprecated");
}

}  // namespace
}  // namespace portcullis::api::catalog
