// SPDX-License-Identifier: Apache-2.0

#include "plugins/listing.h"

#include <gtest/gtest.h>

#include "json/reader.h"
#include "json/yaml.h"
#include "plugins/registry.h"

namespace portcullis::plugins {
namespace {

TEST(ListingTest, JsonHasEveryPlugin) {
  const auto plugins = Registered();
  json::Arena arena;
  const std::string text = ListingJson(plugins);
  const auto list = json::Parse(arena, text);

  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->size(), plugins.size());
  for (std::size_t i = 0; i < plugins.size(); ++i) {
    EXPECT_EQ((*list)[i]["name"].AsString(), plugins[i]->name);
  }
}

TEST(ListingTest, YamlSaysTheSameAsJson) {
  const auto plugins = Registered();
  json::Arena arena;
  const auto json = json::Parse(arena, ListingJson(plugins));
  const auto yaml = json::ParseYaml(arena, ListingYaml(plugins));

  ASSERT_TRUE(json.ok() && yaml.ok());
  EXPECT_TRUE(*json == *yaml);
}

TEST(ListingTest, TheTableSaysHowAPluginIsConfigured) {
  const admission::PluginInfo plain = {.name = "Plain", .summary = "does a thing"};
  const admission::PluginInfo chosen = {.name = "Chosen",
                                        .summary = "does",
                                        .phases = admission::kValidate,
                                        .by_default = admission::Default::kOn,
                                        .configuration = "chosen.example/v1"};
  const admission::PluginInfo* list[] = {&plain, &chosen};

  EXPECT_EQ(ListingTable(list),
            "NAME    PHASES           DEFAULT  SUMMARY       CONFIGURATION\n"
            "Plain                    off      does a thing\n"
            "Chosen  validate         on       does          chosen.example/v1\n");
}

TEST(ListingTest, MarkdownHasOneRowPerPlugin) {
  const admission::PluginInfo plugin = {.name = "Old",
                                        .summary = "does a thing",
                                        .phases = admission::kMutate,
                                        .operations = admission::kCreate,
                                        .until_minor = 30};
  const admission::PluginInfo* list[] = {&plugin};

  EXPECT_NE(ListingMarkdown(list).find(
                "| `Old` | mutate | CREATE | off | does a thing (until 1.30) |  |\n"),
            std::string::npos);
}

}  // namespace
}  // namespace portcullis::plugins
