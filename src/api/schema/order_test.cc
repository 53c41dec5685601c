// SPDX-License-Identifier: Apache-2.0

#include "api/schema/order.h"

#include <gtest/gtest.h>

#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::api::schema {
namespace {

class GoOrderTest : public ::testing::Test {
 protected:
  GoOrderTest() {
    Schema* labels = pool_.Add();
    labels->kind = Kind::kMap;
    labels->element = pool_.Leaf(Kind::kString, "string", "");
    Schema* item = Struct({{"name", pool_.Leaf(Kind::kString, "string", "")}, {"labels", labels}});
    Schema* items = pool_.Add();
    items->kind = Kind::kArray;
    items->element = item;
    root_ = Struct({{"kind", pool_.Leaf(Kind::kString, "string", "")}, {"items", items}});
  }

  Schema* Struct(std::initializer_list<std::pair<std::string_view, const Schema*>> fields) {
    Schema* schema = pool_.Add();
    schema->kind = Kind::kStruct;
    for (const auto& [name, below] : fields) {
      Field field;
      field.name = name;
      field.schema = below;
      schema->fields.push_back(field);
    }
    SchemaPool::Finish(*schema);
    return schema;
  }

  json::Value Read(std::string_view text) { return *json::Parse(arena_, text); }

  json::Arena arena_;
  SchemaPool pool_;
  Schema* root_ = nullptr;
};

TEST_F(GoOrderTest, PutsFieldsAsDeclaredAndMapsByKey) {
  const json::Value value =
      Read(R"({"x":1,"items":[{"labels":{"b":"2","a":"1"},"name":"n"}],"kind":"K"})");
  EXPECT_EQ(json::ToString(InGoOrder(arena_, *root_, value)),
            R"({"kind":"K","items":[{"name":"n","labels":{"a":"1","b":"2"}}],"x":1})");
}

TEST_F(GoOrderTest, UnknownMembersComeLast) {
  const json::Value value = Read(R"({"y":1,"kind":"K","x":2,"items":[]})");
  EXPECT_EQ(json::ToString(InGoOrder(arena_, *root_, value)),
            R"({"kind":"K","items":[],"y":1,"x":2})");
  const json::Value behind = Read(R"({"kind":"K","y":1,"items":[]})");
  EXPECT_EQ(json::ToString(InGoOrder(arena_, *root_, behind)), R"({"kind":"K","items":[],"y":1})");
}

TEST_F(GoOrderTest, SharesWhatStandsInOrder) {
  const json::Value value = Read(R"({"kind":"K","items":[{"name":"n","labels":{"a":"1"}}]})");
  EXPECT_TRUE(InGoOrder(arena_, *root_, value).IsSameAs(value));
  const json::Value other = Read(R"({"items":[{"name":"n"}],"kind":"K"})");
  EXPECT_TRUE(InGoOrder(arena_, *root_, other)["items"].IsSameAs(other["items"]));
}

TEST_F(GoOrderTest, DoesNotLookAtWhatIsKnownToBeInOrder) {
  const json::Value known = Read(R"({"items":[{"labels":{"b":"2","a":"1"}}]})");
  const json::Value value = json::With(arena_, known, "kind", json::Value::StringView("K"));
  EXPECT_EQ(json::ToString(InGoOrder(arena_, *root_, value, known)),
            R"({"kind":"K","items":[{"labels":{"b":"2","a":"1"}}]})");
}

TEST_F(GoOrderTest, TellsOfEmptyListsThatTheSchemaKnows) {
  const auto has = [this](json::Value value, json::Value known = {}) {
    bool has_empty_list = false;
    InGoOrder(arena_, *root_, value, known, &has_empty_list);
    return has_empty_list;
  };
  EXPECT_TRUE(has(Read(R"({"kind":"K","items":[]})")));
  EXPECT_FALSE(has(Read(R"({"kind":"","items":[{"name":"","labels":{}}]})")));
  EXPECT_FALSE(has(Read(R"({"kind":"K","x":[]})")));

  const json::Value known = Read(R"({"items":[]})");
  EXPECT_FALSE(has(json::With(arena_, known, "kind", json::Value::StringView("K")), known));
}

TEST_F(GoOrderTest, LeavesValuesOfOtherTypesAlone) {
  const json::Value value = Read(R"({"items":{"b":1,"a":2},"kind":["z","a"]})");
  EXPECT_EQ(json::ToString(InGoOrder(arena_, *root_, value)),
            R"({"kind":["z","a"],"items":{"b":1,"a":2}})");
}

}  // namespace
}  // namespace portcullis::api::schema
