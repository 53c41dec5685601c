// SPDX-License-Identifier: Apache-2.0

#include "api/schema/field_index.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace portcullis::api::schema {
namespace {

// A struct with fields of these names, and of these hashes if there are any.
Schema Struct(const std::vector<std::string>& names) {
  Schema schema;
  schema.kind = Kind::kStruct;
  for (const std::string& name : names) schema.fields.emplace_back().name = name;
  SchemaPool::Finish(schema);
  return schema;
}

std::vector<std::string> Names(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back("field" + std::to_string(i));
  return names;
}

TEST(FieldIndexTest, FindsEachFieldAndNoOther) {
  for (int count : {0, 1, 6, 7, 100, 70'000}) {
    const std::vector<std::string> names = Names(count);
    const Schema schema = Struct(names);
    for (std::size_t i = 0; i < names.size(); ++i) {
      ASSERT_EQ(schema.FindField(names[i]), &schema.fields[i]) << count << " " << i;
    }
    EXPECT_EQ(schema.FindField("field" + std::to_string(count)), nullptr);
    EXPECT_EQ(schema.FindField(""), nullptr);
  }
}

TEST(FieldIndexTest, NamesThatCollideAreFound) {
  std::vector<std::string> names = Names(2000);
  Schema schema;
  for (const std::string& name : names) {
    Field& field = schema.fields.emplace_back();
    field.name = name;
    field.hash = 7;
  }
  schema.field_index = MakeFieldIndex(schema.fields);
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(schema.FindField(names[i], 7), &schema.fields[i]);
  }
  EXPECT_EQ(schema.FindField("other", 7), nullptr);
  EXPECT_EQ(schema.FindField("field1", 8), nullptr);
}

TEST(FieldIndexTest, TakesAFewBytesForAField) {
  const std::vector<std::string> names = Names(3000);
  EXPECT_LE(MakeFieldIndex(Struct(Names(70'000)).fields).size() * 2, 70'001U * 4);
  EXPECT_LE(Struct(names).field_index.size() * 2, 3000U * 8);
}

}  // namespace
}  // namespace portcullis::api::schema
