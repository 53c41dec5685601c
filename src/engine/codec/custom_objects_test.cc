// SPDX-License-Identifier: Apache-2.0

// What reads make of custom resources that are stored otherwise than this server stores them.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "api/catalog/catalog.h"
#include "engine/codec/codec.h"
#include "json/reader.h"
#include "json/writer.h"
#include "store/memory/memory_store.h"

namespace portcullis::engine {
namespace {

constexpr std::string_view kThingDefinition = R"({
  "spec":{"group":"example.com","scope":"Namespaced",
    "names":{"plural":"things","singular":"thing","kind":"Thing","listKind":"ThingList"},
    "versions":[{"name":"v1","served":true,"storage":true,
      "schema":{"openAPIV3Schema":{"type":"object"}}}]}})";

class CustomObjectsTest : public ::testing::Test {
 protected:
  // The metadata that reads show of an object with this one.
  std::string Shown(std::string_view metadata) {
    json::Arena arena;
    const auto builtin = api::catalog::Catalog::BuiltIn({}).value();
    const auto custom = api::catalog::CustomResources::Compile(
        json::Parse(arena, kThingDefinition).value(), {builtin->object_meta()});
    const auto catalog = builtin->WithCustomResources({custom.value()});
    std::string bytes = R"({"apiVersion":"example.com/v1","kind":"Thing","metadata":{)" +
                        std::string(metadata) + R"("name":"a","resourceVersion":""}})";
    const std::size_t at = bytes.find(R"("resourceVersion":")") + 19;
    const auto stored = store_->Create({"example.com", "things", "n", "a"}, {std::move(bytes), at});
    const auto read =
        FromStore(arena, stored.value(), *catalog->Find("example.com", "v1", "things"));
    return json::ToString(json::Without(arena, read.value()["metadata"], "resourceVersion"));
  }

  const std::unique_ptr<store::Store> store_ = store::OpenMemory();
};

TEST_F(CustomObjectsTest, ThoseWithoutAGenerationAreOfTheFirst) {
  EXPECT_EQ(Shown(""), R"({"generation":1,"name":"a"})");
}

TEST_F(CustomObjectsTest, OthersKeepTheirs) {
  EXPECT_EQ(Shown(R"("generation":3,)"), R"({"generation":3,"name":"a"})");
}

}  // namespace
}  // namespace portcullis::engine
