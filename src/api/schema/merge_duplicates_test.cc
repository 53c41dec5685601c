// SPDX-License-Identifier: Apache-2.0

#include "api/schema/merge_duplicates.h"

#include <gtest/gtest.h>

#include "api/catalog/catalog.h"
#include "api/schema/decode.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::api::schema {
namespace {

class MergeDuplicatesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { catalog_ = new auto(catalog::Catalog::BuiltIn({}).value()); }
  static void TearDownTestSuite() { delete catalog_; }

  // The merged input, or the error.
  std::string Merge(const GroupVersionKind& kind, std::string_view text) {
    strict_.clear();
    json::ParseOptions options;
    options.keep_duplicates = true;
    const auto input = json::Parse(arena_, text, options);
    if (!input.ok()) return input.status().message();
    const auto merged = MergeDuplicates(arena_, *(*catalog_)->FindSchema(kind), *input, &strict_);
    return merged.ok() ? json::ToString(*merged) : merged.status().message();
  }
  // Of a pod's spec.
  std::string Spec(std::string_view spec) {
    std::string merged = Merge({"", "v1", "Pod"}, "{\"spec\":{" + std::string(spec) + "}}");
    constexpr std::string_view kStart = "{\"spec\":{";
    if (!merged.starts_with(kStart)) return merged;
    return merged.substr(kStart.size(), merged.size() - kStart.size() - 2);
  }

  static std::shared_ptr<const catalog::Catalog>* catalog_;
  json::Arena arena_;
  std::vector<std::string> strict_;
};
std::shared_ptr<const catalog::Catalog>* MergeDuplicatesTest::catalog_ = nullptr;

const GroupVersionKind kMap{"", "v1", "ConfigMap"};

TEST_F(MergeDuplicatesTest, MapsAreMergedAndTheirEntriesReplaced) {
  EXPECT_EQ(Merge(kMap, R"({"data":{"a":"1","b":"1"},"data":{"a":"2"}})"),
            R"({"data":{"a":"2","b":"1"}})");
  EXPECT_EQ(Merge(kMap, R"({"data":{"a":"1"},"data":null,"data":{"b":"2"}})"),
            R"({"data":{"b":"2"}})");
  EXPECT_EQ(Merge(kMap, R"({"data":{"a":"1"},"data":null})"), R"({"data":null})");
}

TEST_F(MergeDuplicatesTest, NullClearsPointersAndLeavesStructsAndScalars) {
  EXPECT_EQ(Merge(kMap, R"({"metadata":{"name":"a","name":null},"metadata":null})"),
            R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(Merge(kMap, R"({"immutable":true,"immutable":null})"), R"({"immutable":null})");
  EXPECT_EQ(Spec(R"("securityContext":{"runAsUser":1},"securityContext":null,)"
                 R"("securityContext":{"runAsGroup":2})"),
            R"("securityContext":{"runAsGroup":2})");
}

TEST_F(MergeDuplicatesTest, ListElementsAreDecodedIntoTheOldOnes) {
  EXPECT_EQ(
      Spec(R"("containers":[{"name":"a","image":"i"},{"name":"b"}],"containers":[{"name":"c"}])"),
      R"("containers":[{"name":"c","image":"i"}])");
  // The second element, hidden in between, comes back.
  EXPECT_EQ(
      Spec(R"("containers":[{},{"image":"j"}],"containers":[{}],"containers":[{},{"name":"e"}])"),
      R"("containers":[{},{"name":"e","image":"j"}])");
  EXPECT_EQ(Spec(R"("containers":[{"image":"i"}],"containers":[],"containers":[{"name":"b"}])"),
            R"("containers":[{"name":"b"}])");
  EXPECT_EQ(Spec(R"("containers":[{"image":"i"}],"containers":[null])"),
            R"("containers":[{"image":"i"}])");
}

TEST_F(MergeDuplicatesTest, AReplacedValueOfTheWrongTypeIsStillAnError) {
  EXPECT_EQ(Merge({"apps", "v1", "Deployment"}, R"({"spec":{"replicas":"x","replicas":3}})"),
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of "
            "type int32");
}

TEST_F(MergeDuplicatesTest, ReportsInTheOrderOfTheTextAndEachPlaceOnce) {
  Merge(kMap, R"({"zoo":{"a":1,"a":2},"metadata":{"name":"a","name":"b","moo":1,"name":"c"},)"
              R"("zoo":2,"data":{"x":"1","x":"2"}})");
  EXPECT_EQ(strict_, (std::vector<std::string>{
                         "unknown field \"zoo\"", "duplicate field \"metadata.name\"",
                         "unknown field \"metadata.moo\"", "duplicate field \"data.x\""}));
}

TEST_F(MergeDuplicatesTest, WhatDecodesItselfReportsNothing) {
  EXPECT_EQ(Merge({"apps", "v1", "ControllerRevision"}, R"({"data":{"a":1,"a":2},"data":null})"),
            R"({"data":{"a":2}})");
  EXPECT_EQ(strict_, std::vector<std::string>{"duplicate field \"data\""});
}

}  // namespace
}  // namespace portcullis::api::schema
