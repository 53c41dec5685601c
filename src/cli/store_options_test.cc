// SPDX-License-Identifier: Apache-2.0

#include "cli/store_options.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "server/options.h"

namespace portcullis::cli {
namespace {

constexpr std::string_view kEtcd[] = {"etcd-"};

TEST(StoreOptions, FlagsOfEtcdAreThoseOfServe) {
  const std::vector<flags::Info> serve = server::Flags();
  const std::vector<StoreFlag> store = StoreFlags(kEtcd);
  EXPECT_EQ(store.size(), 5U);
  for (const StoreFlag& flag : store) {
    const auto same = std::find_if(serve.begin(), serve.end(),
                                   [&](const flags::Info& info) { return info.name == flag.name; });
    ASSERT_NE(same, serve.end()) << flag.name;
    EXPECT_EQ(same->meaning, flag.meaning);
    EXPECT_EQ(same->default_text, flag.default_text);
    EXPECT_EQ(same->type, flag.type);
  }
}

TEST(StoreOptions, KeysBeginWithASlashAndThePrefixDoesNotEndWithOne) {
  const std::vector<StoreFlag> table = StoreFlags(kEtcd);
  const auto prefix_of = [&](const std::string& value) {
    StoreOptions options;
    const std::vector<std::string> words = {"--etcd-prefix=" + value};
    const auto line =
        flags::Parse<StoreOptions>(table, words, {"portcullis store export"}, options);
    return line.ok() ? options.etcd_prefix : std::string(line.status().message());
  };
  EXPECT_EQ(prefix_of("registry/"), "/registry");
  EXPECT_EQ(prefix_of("/a/b"), "/a/b");
  EXPECT_EQ(prefix_of("/"), "invalid argument \"/\" for \"--etcd-prefix\" flag: must not be empty");
}

TEST(StoreOptions, CommandsTakeTheFlagsThatTheyName) {
  constexpr std::string_view kNames[] = {"data-dir", "output"};
  const std::vector<StoreFlag> flags = StoreFlags(kNames);
  ASSERT_EQ(flags.size(), 2U);
  EXPECT_EQ(flags[0].name, "data-dir");
  EXPECT_EQ(flags[1].name, "output");
}

}  // namespace
}  // namespace portcullis::cli
