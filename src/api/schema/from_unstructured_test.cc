// SPDX-License-Identifier: Apache-2.0

#include "api/schema/from_unstructured.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/catalog/catalog.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::api::schema {
namespace {

class FromUnstructuredTest : public testing::Test {
 protected:
  // What `text` becomes in a type of that kind, or the error.
  std::string Convert(Kind kind, std::string_view text) {
    Schema schema;
    schema.kind = kind;
    const auto converted = FromUnstructured(arena_, schema, json::Parse(arena_, text).value());
    return converted.ok() ? json::ToString(*converted) : converted.status().message();
  }

  json::Arena arena_;
};

TEST_F(FromUnstructuredTest, BytesMayBeAListOfNumbersOfWhichTheLowBitsStay) {
  EXPECT_EQ(Convert(Kind::kBytes, "[1,null,255]"), R"("AQD/")");
  EXPECT_EQ(Convert(Kind::kBytes, "[257,-1,2.0]"), R"("Af8C")");
  EXPECT_EQ(Convert(Kind::kBytes, "[]"), R"("")");
  EXPECT_EQ(Convert(Kind::kBytes, "[1.5]"), "cannot convert float64 to uint8");
  EXPECT_EQ(Convert(Kind::kBytes, R"(["x"])"), "unrecognized type: uint8");
  EXPECT_EQ(Convert(Kind::kBytes, "{}"), "cannot restore slice from map");
}

TEST_F(FromUnstructuredTest, FloatsKeepTheFirstDigitsOfAnInteger) {
  EXPECT_EQ(Convert(Kind::kNumber, "9007199254740993"), "9007199254740992");
  EXPECT_EQ(Convert(Kind::kNumber, "9223372036854775807"), "9223372036854776000");
  EXPECT_EQ(Convert(Kind::kNumber, "1.5"), "1.5");
}

TEST_F(FromUnstructuredTest, UnknownFieldsAreToldInOrderWithoutTheKeysOfMaps) {
  const auto catalog = catalog::Catalog::BuiltIn({}).value();
  const Schema* slice = catalog->FindSchema({"resource.k8s.io", "v1", "ResourceSlice"});
  ASSERT_NE(slice, nullptr);
  const json::Value value =
      json::Parse(arena_, R"({"spec":{"z":1,"devices":[{},{"name":"a","zoo":{},)"
                          R"("attributes":{"x":{"foo":1,"string":"s"}}}]},"a":[]})")
          .value();
  std::vector<std::string> unknown;
  const auto converted = FromUnstructured(arena_, *slice, value, &unknown);
  ASSERT_TRUE(converted.ok());
  EXPECT_EQ(unknown, (std::vector<std::string>{"a", "spec.devices[1].attributes.foo",
                                               "spec.devices[1].zoo", "spec.z"}));
  EXPECT_EQ(json::ToString(*converted),
            R"({"spec":{"devices":[{},{"name":"a","attributes":{"x":{"string":"s"}}}]}})");
}

}  // namespace
}  // namespace portcullis::api::schema
