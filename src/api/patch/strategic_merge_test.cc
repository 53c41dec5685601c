// SPDX-License-Identifier: Apache-2.0

// Lists of a strategic merge patch against the slow way of merging them, and how much is allocated.
#include "api/patch/strategic_merge.h"

#include <gtest/gtest.h>

#include <random>

#include "api/catalog/catalog.h"
#include "api/testing/slow_list_merge.h"
#include "base/strings.h"
#include "json/reader.h"
#include "json/writer.h"

namespace portcullis::api::patch {
namespace {

using testing::SlowElement;
using testing::SlowList;

// An object with the list as spec.volumes of a pod; their merge key is "name".
std::string PodWith(const SlowList& volumes) {
  std::string list;
  for (const SlowElement& volume : volumes) {
    list += base::StrCat(list.empty() ? "" : ",", R"({"name":")", volume.name, "\"",
                         volume.deleted ? R"(,"$patch":"delete"})"
                                        : base::StrCat(R"(,"value":")", volume.value, "\"}"));
  }
  return base::StrCat(R"({"spec":{"volumes":[)", list, "]}}");
}

SlowList RandomList(std::mt19937& random, bool is_patch) {
  SlowList out;
  for (auto n = random() % 8; n > 0; --n) {
    out.push_back({std::string(1, static_cast<char>('a' + random() % 6)),
                   std::to_string(random() % 9), is_patch && random() % 4 == 0});
  }
  return out;
}

TEST(StrategicMergeTest, ListsAreMergedAsTheSlowWayDoes) {
  const auto catalog = catalog::Catalog::BuiltIn({}).value();
  const schema::Schema& pod = *catalog->Find("", "v1", "pods")->schema;
  std::mt19937 random(13);
  for (int round = 0; round < 20'000; ++round) {
    const SlowList live = RandomList(random, false);
    const SlowList patch = RandomList(random, true);
    json::Arena arena;
    const json::Value object = json::Parse(arena, PodWith(live)).value();
    const json::Value change = json::Parse(arena, PodWith(patch)).value();
    const auto merged = StrategicMerge(arena, pod, object, change);
    ASSERT_TRUE(merged.ok()) << merged.status().message();
    ASSERT_EQ(json::ToString(merged->object), PodWith(testing::SlowListMerge(live, patch)))
        << PodWith(live) << PodWith(patch);
  }
}

TEST(StrategicMergeTest, ManyMembersAreRemovedAtOnce) {
  const auto catalog = catalog::Catalog::BuiltIn({}).value();
  const schema::Schema& map = *catalog->Find("", "v1", "configmaps")->schema;
  json::Arena arena;
  const json::Value object = json::Parse(arena, R"({"data":{"a":"1","b":"2","c":"3"}})").value();
  const json::Value patch = json::Parse(arena, R"({"data":{"a":null,"c":null,"d":"4"}})").value();
  const auto merged = StrategicMerge(arena, map, object, patch);
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(json::ToString(merged->object), R"({"data":{"b":"2","d":"4"}})");
}

}  // namespace
}  // namespace portcullis::api::patch
