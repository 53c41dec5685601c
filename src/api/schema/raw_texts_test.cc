// SPDX-License-Identifier: Apache-2.0

#include "api/schema/raw_texts.h"

#include <gtest/gtest.h>

#include "api/catalog/catalog.h"
#include "api/schema/decode.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::api::schema {
namespace {

class RawTextsTest : public ::testing::Test {
 protected:
  // What is stored of a text of a kind that is served in the version v1 of its group.
  std::string Stored(std::string_view group, std::string_view kind, std::string_view text) {
    const Schema* schema = catalog_->FindSchema({std::string(group), "v1", std::string(kind)});
    const json::Value object = Decode(arena_, *schema, json::Parse(arena_, text).value()).value();
    told_ = HoldsRawTexts(*schema, object);
    return json::ToString(WithRawTexts(arena_, *schema, object, text));
  }

  const std::shared_ptr<const catalog::Catalog> catalog_ = *catalog::Catalog::BuiltIn({});
  json::Arena arena_;
  bool told_ = false;
};

TEST_F(RawTextsTest, KeepsTextsOfRawExtensionsAndOfNothingElse) {
  EXPECT_EQ(Stored("apps", "ControllerRevision",
                   R"({"data": {"a": 1.0, "a": [ "\u0061" ]}, "revision": 1, "more": 1.0,
                       "metadata": {"labels": {"a": "\u0061"}}})"),
            R"({"metadata":{"labels":{"a":"a"}},"data":{"a":1.0,"a":["\u0061"]},"revision":1})");
  EXPECT_TRUE(told_);
  EXPECT_EQ(
      Stored(
          "resource.k8s.io", "DeviceClass",
          R"({"metadata":{},"spec":{"config":[{},{"opaque":{"driver":"d","parameters":{"a":1e1}}}]}})"),
      R"({"metadata":{},"spec":{"config":[{},{"opaque":{"driver":"d","parameters":{"a":1e1}}}]}})");
}

TEST_F(RawTextsTest, NeedsNothingOfTextsThatAreGos) {
  EXPECT_EQ(
      Stored("apps", "ControllerRevision", R"({"metadata":{},"data":{"b":1,"a":2},"revision":1})"),
      R"({"metadata":{},"data":{"b":1,"a":2},"revision":1})");
  EXPECT_FALSE(told_);
}

TEST_F(RawTextsTest, NumbersAreThoseThatAreReadBack) {
  const auto raw = ReadRawExtension(arena_, R"({"a":1.0,"b":[1e2]})");

  ASSERT_TRUE(raw.ok());
  EXPECT_TRUE(*raw == *json::Parse(arena_, R"({"a":1,"b":[100]})"));
  EXPECT_EQ(json::ToString(*raw), R"({"a":1.0,"b":[1e2]})");
}

}  // namespace
}  // namespace portcullis::api::schema
