// SPDX-License-Identifier: Apache-2.0

// Deletions in an etcd that has used up its quota: it takes no transaction that puts anything.

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "store/etcd/etcd_store.h"
#include "store/etcd/testing/fake_etcd.h"
#include "store/testing/objects.h"

namespace portcullis::store {
namespace {

using testing::ConfigMap;
using testing::Encode;

class FullEtcd : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::string_view name : {"a", "b"}) ASSERT_TRUE(Create(name).ok());
    ASSERT_TRUE(one->Create(ConfigMap("n", "c"), Encode("n", "c")).ok());
    Freshen(*two);
    rules = two->rules_revision();
    ASSERT_TRUE(rules);
    etcd.SetFull(true);
  }
  std::unique_ptr<EtcdStore> Open() {
    EtcdOptions options;
    options.clock = &base::SystemClock();
    options.client.endpoints = {"fake"};
    return *OpenEtcd(etcd.MakeClient(), options, {});
  }
  base::Status Create(std::string_view name) {
    return one->Create({"", "namespaces", "", name}, Encode("", name)).status();
  }
  base::Status Delete(std::string_view name) {
    return one->Delete({"", "namespaces", "", name}, {}).status();
  }
  static void Freshen(EtcdStore& store) {
    std::promise<base::Status> done;
    store.Freshen(base::SystemClock().Steady() + std::chrono::seconds(20),
                  [&](base::Status status) { done.set_value(std::move(status)); });
    EXPECT_TRUE(done.get_future().get().ok());
  }

  testing::FakeEtcd etcd;
  std::unique_ptr<EtcdStore> one = Open();
  std::unique_ptr<EtcdStore> two = Open();
  std::optional<std::int64_t> rules;
};

TEST_F(FullEtcd, TakesDeletionsOnly) {
  EXPECT_EQ(Create("c").message(), "etcdserver: mvcc: database space exceeded");
  EXPECT_TRUE(Delete("a").ok());
  EXPECT_TRUE(Delete("b").ok());
  EXPECT_TRUE(one->Delete(ConfigMap("n", "c"), {}).ok());
}

TEST_F(FullEtcd, HasNoRevisionOfRulesOnceOneIsDeletedUntilOneIsWritten) {
  for (const std::string_view name : {"a", "b"}) {
    ASSERT_TRUE(Delete(name).ok());
    EXPECT_EQ(one->rules_revision(), std::nullopt);
    Freshen(*two);
    EXPECT_EQ(two->rules_revision(), std::nullopt);
  }
  etcd.SetFull(false);
  // One that began before the deletions.
  Change change;
  change.key = ConfigMap("n", "d");
  change.object = Encode("n", "d");
  change.rules_revision = rules;
  std::promise<base::Status> late;
  two->Submit(std::move(change),
              [&](base::Result<ObjectPtr> result) { late.set_value(result.status()); });
  EXPECT_EQ(late.get_future().get().reason(), base::Reason::kExpired);

  ASSERT_TRUE(Create("a").ok());
  EXPECT_EQ(one->rules_revision(), one->revision());
  Freshen(*two);
  EXPECT_EQ(two->rules_revision(), one->revision());
}

}  // namespace
}  // namespace portcullis::store
