#include "plugins/listing.h"

#include <gtest/gtest.h>

#include "json/reader.h"
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
