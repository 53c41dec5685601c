// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <string>

#include "store/etcd/etcd_store.h"
#include "store/etcd/testing/fake_etcd.h"
#include "store/testing/objects.h"

namespace portcullis::store {
namespace {

void Replace(std::string& text, std::string_view old, std::string_view now) {
  if (const auto at = text.find(old); at != std::string::npos) text.replace(at, old.size(), now);
}

// What is written comes back through the decoder, as what other servers write.
TEST(EtcdValueVersions, AreOthersThanThoseOfTheStore) {
  testing::FakeEtcd etcd;
  EtcdOptions options;
  options.clock = &base::SystemClock();
  options.client.endpoints = {"fake"};
  options.decoder = [](const Key&, std::string_view value, bool&) {
    std::string text(value);
    Replace(text, R"("value":"old")", R"("value":"new")");
    return FromEtcdValue(text);
  };
  options.versioner = [](const Key& key, std::string& value) {
    if (key.name != "a") return false;
    Replace(value, R"("value":"new")", R"("value":"old")");
    return true;
  };
  const auto store = OpenEtcd(etcd.MakeClient(), options, {}).value();
  for (const std::string name : {"a", "b"}) {
    const auto key = testing::ConfigMap("n", name);
    const auto made = store->Create(key, testing::Encode("n", name, "new"));
    ASSERT_TRUE(made.ok()) << made.status().message();
    EXPECT_EQ((*made)->document()["data"]["value"].AsString(), "new");
    EXPECT_EQ(store->Get(key)->document()["data"]["value"].AsString(), "new");
    EXPECT_NE(etcd.ValueOf("/registry/configmaps/n/" + name).find(name == "a" ? "old" : "new"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace portcullis::store
