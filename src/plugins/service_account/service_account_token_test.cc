// SPDX-License-Identifier: Apache-2.0

#include "plugins/service_account/service_account_token.h"

#include <gtest/gtest.h>

#include <string>

#include "json/writer.h"

namespace portcullis::plugins::service_account {
namespace {

std::size_t BytesOfMounting(std::size_t containers) {
  json::Arena arena;
  json::ArrayBuilder list(arena);
  for (std::size_t i = 0; i < containers; ++i) {
    list.Add(json::MakeObject(arena, {{"name", json::String(arena, std::to_string(i))}}));
  }
  const json::Value spec = json::MakeObject(arena, {{"containers", list.Build()}});
  const std::size_t before = arena.bytes_used();
  const json::Value mounted = MountToken(arena, spec);
  EXPECT_EQ(mounted["containers"][containers - 1]["volumeMounts"].size(), 1U);
  return arena.bytes_used() - before;
}

TEST(ServiceAccountTokenTest, MemoryGrowsWithTheContainers) {
  EXPECT_LT(BytesOfMounting(2000), 3 * BytesOfMounting(1000));
}

TEST(ServiceAccountTokenTest, SourcesAreWrittenAsTheyStandInTheProgram) {
  json::Arena arena;
  const json::Value container = json::MakeObject(arena, {{"name", json::String(arena, "c")}});
  const json::Value spec =
      json::MakeObject(arena, {{"containers", json::MakeArray(arena, {container})}});
  const json::Value sources = MountToken(arena, spec)["volumes"][0]["projected"]["sources"];
  EXPECT_EQ(sources.size(), 3U);
  EXPECT_EQ(sources.source(), json::ToString(sources, {.splice_source = false}));
}

}  // namespace
}  // namespace portcullis::plugins::service_account
