// SPDX-License-Identifier: Apache-2.0

// Objects in etcd that become unreadable while the store is open: another server has written them with
// a key that this one gets later, or something else has damaged them.

#include <gtest/gtest.h>

#include <future>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "store/encryption/encryption.h"
#include "store/etcd/etcd_store.h"
#include "store/etcd/testing/fake_etcd.h"
#include "store/testing/objects.h"

namespace portcullis::store {
namespace {

using testing::ConfigMap;
using testing::Encode;

constexpr std::string_view kNoKey =
    "Internal error occurred: no matching key was found for the provided AES transformer";

// Keys of aesgcm by their names, the first of which writes.
EncryptionConfig Keys(const std::vector<std::string>& names) {
  EncryptionProvider aesgcm{EncryptionProvider::Kind::kAesGcm, {}};
  for (const std::string& name : names) aesgcm.keys.push_back({name, std::string(32, name[0])});
  return {{{{{"", "configmaps"}}, {aesgcm}}}};
}

// A store with its encryption.
struct Server {
  Server(testing::FakeEtcd& etcd, const std::vector<std::string>& keys)
      : encryption(*Encryption::Make(Keys(keys))) {
    EtcdOptions options;
    options.clock = &base::SystemClock();
    options.client.endpoints = {"fake"};
    Options choices;
    choices.transformer = encryption;
    store = *OpenEtcd(etcd.MakeClient(), options, choices);
  }
  void Reload(const std::vector<std::string>& keys) const {
    EXPECT_TRUE(encryption->Set(Keys(keys)).ok());
    store->ReadUnreadable();
  }
  void Freshen() const {
    std::promise<base::Status> done;
    store->Freshen(base::SystemClock().Steady() + std::chrono::seconds(20),
                   [&](base::Status status) { done.set_value(std::move(status)); });
    EXPECT_TRUE(done.get_future().get().ok());
  }
  base::Status Put(std::string_view name, std::string_view value) const {
    const Key key = ConfigMap("n", name);
    return (store->Get(key) == nullptr ? store->Create(key, Encode("n", name, value))
                                       : store->Update(key, Encode("n", name, value), {}))
        .status();
  }
  // What a client sees.
  std::string Read(std::string_view name) const {
    Freshen();
    const Key key = ConfigMap("n", name);
    if (base::Status why = store->WhyUnreadable(key); !why.ok()) return std::string(why.message());
    return Last(name);
  }
  // What readers see that go on with what there was.
  std::string Last(std::string_view name) const {
    const ObjectPtr object = store->Get(ConfigMap("n", name));
    if (object == nullptr) return "none";
    return std::string(object->document()["data"]["value"].AsString());
  }
  base::Status List() const {
    Freshen();
    return store->ListPage({{"", "configmaps"}, "n", 10}).status();
  }
  // Until what has been asked for in the background is done.
  void AwaitReadable() const {
    const base::SteadyTime end = base::SystemClock().Steady() + std::chrono::seconds(20);
    while (!store->WhyUnreadable(ConfigMap("n", "a")).ok() && base::SystemClock().Steady() < end) {
      std::this_thread::yield();
    }
  }

  std::shared_ptr<Encryption> encryption;
  std::unique_ptr<EtcdStore> store;
};

class UnreadableTest : public ::testing::Test {
 protected:
  testing::FakeEtcd etcd_;
};

TEST_F(UnreadableTest, AFormerStateIsNotServed) {
  const Server a(etcd_, {"old"});
  const Server b(etcd_, {"old"});
  ASSERT_TRUE(a.Put("a", "1").ok());
  EXPECT_EQ(b.Read("a"), "1");
  a.Reload({"new", "old"});
  ASSERT_TRUE(a.Put("a", "2").ok());

  const auto expect_nothing = [&] {
    EXPECT_EQ(b.Read("a"), kNoKey);
    EXPECT_EQ(b.Last("a"), "1");
    EXPECT_EQ(b.List().message(),
              "Internal error occurred: unable to transform key \"/registry/configmaps/n/a\": no "
              "matching key was found for the provided AES transformer");
    EXPECT_EQ(b.Put("a", "3").message(), kNoKey);
    EXPECT_TRUE(b.store->ListPage({{"", "configmaps"}, "other", 10}).ok());
  };
  expect_nothing();
  // The same when everything is read anew.
  etcd_.CancelWatches();
  ASSERT_TRUE(a.Put("later", "1").ok());
  EXPECT_EQ(b.Read("later"), kNoKey);
  expect_nothing();
}

TEST_F(UnreadableTest, IsReadOnceItsKeyIsThere) {
  const Server a(etcd_, {"old"});
  const Server b(etcd_, {"old"});
  ASSERT_TRUE(a.Put("a", "1").ok());
  ASSERT_TRUE(a.Put("b", "1").ok());
  a.Reload({"new", "old"});
  ASSERT_TRUE(a.Put("a", "2").ok());
  EXPECT_EQ(b.Read("a"), kNoKey);
  auto watch = *b.store->StartWatch({{"", "configmaps"}, "n", 0}, [] {});
  std::vector<EventPtr> events;
  EXPECT_EQ(*watch->Poll(10, events), 0U);

  b.Reload({"old", "new"});
  b.AwaitReadable();
  EXPECT_EQ(b.Read("a"), "2");
  EXPECT_TRUE(b.List().ok());
  EXPECT_EQ(watch->Poll(10, events).status().reason(), base::Reason::kExpired)
      << "its client has to list again";
  // Writes and events go on, on both servers.
  ASSERT_TRUE(b.Put("a", "3").ok());
  EXPECT_EQ(a.Read("a"), "3");
  ASSERT_TRUE(a.Put("a", "4").ok());
  ASSERT_TRUE(a.Put("b", "2").ok());
  EXPECT_EQ(b.Read("a"), "4");
  EXPECT_EQ(b.Read("b"), "2");
}

TEST_F(UnreadableTest, IsReadOnceAfterSeveralReloads) {
  const Server a(etcd_, {"new"});
  const Server b(etcd_, {"old"});
  ASSERT_TRUE(a.Put("a", "1").ok());
  EXPECT_EQ(b.Read("a"), kNoKey);
  EXPECT_EQ(b.Last("a"), "none");
  for (int i = 0; i < 20; ++i) b.Reload({"old", std::to_string(i)});
  b.Reload({"old", "new"});
  b.AwaitReadable();
  EXPECT_EQ(b.Read("a"), "1");
}

TEST_F(UnreadableTest, NothingIsReadAgainIfNothingWasUnreadable) {
  const Server a(etcd_, {"old"});
  ASSERT_TRUE(a.Put("a", "1").ok());
  auto watch = *a.store->StartWatch({{"", "configmaps"}, "n", 0}, [] {});
  a.Reload({"new", "old"});
  ASSERT_TRUE(a.Put("a", "2").ok());
  EXPECT_EQ(a.Read("a"), "2");
  std::vector<EventPtr> events;
  EXPECT_EQ(*watch->Poll(10, events), 1U);
}

TEST_F(UnreadableTest, ItsDeletionTellsTheFormerState) {
  const Server a(etcd_, {"old"});
  const Server b(etcd_, {"old"});
  ASSERT_TRUE(a.Put("a", "1").ok());
  auto watch = *b.store->StartWatch({{"", "configmaps"}, "n", 1}, [] {});
  a.Reload({"new", "old"});
  ASSERT_TRUE(a.Put("a", "2").ok());
  EXPECT_EQ(b.Read("a"), kNoKey);
  ASSERT_TRUE(a.store->Delete(ConfigMap("n", "a"), {}).ok());
  EXPECT_EQ(b.Read("a"), "none");
  EXPECT_TRUE(b.List().ok());
  std::vector<EventPtr> events;
  EXPECT_EQ(*watch->Poll(10, events), 2U);
  EXPECT_EQ(events.back()->type, EventType::kDeleted);
  EXPECT_EQ(events.back()->object->document()["data"]["value"].AsString(), "1");
}

// Whether the objects of the events that it hears can be read by then.
class Reading final : public Observer {
 public:
  explicit Reading(const Store& store) : store_(store) {}
  void OnCommit(std::span<const EventPtr> events) override {
    for (const EventPtr& event : events) {
      const Key key = ConfigMap(event->object->ns(), event->object->name());
      heard.push_back(std::string(store_.WhyUnreadable(key).message()));
    }
  }
  std::vector<std::string> heard;

 private:
  const Store& store_;
};

TEST_F(UnreadableTest, IsReadableWhenItsEventIsTold) {
  const Server a(etcd_, {"old"});
  const Server b(etcd_, {"old"});
  ASSERT_TRUE(a.Put("a", "1").ok());
  const std::string good = etcd_.ValueOf("/registry/configmaps/n/a");
  etcd_.Put("/registry/configmaps/n/a", "\x01garbage");
  b.Freshen();
  Reading reading(*b.store);
  const auto subscription = b.store->Subscribe({}, reading, {});
  etcd_.Put("/registry/configmaps/n/a", good);
  b.Freshen();
  EXPECT_EQ(reading.heard, std::vector<std::string>{""});
}

TEST_F(UnreadableTest, ADamagedValueIsReplacedByALaterOne) {
  const Server a(etcd_, {"old"});
  const Server b(etcd_, {"old"});
  ASSERT_TRUE(a.Put("a", "1").ok());
  const std::string good = etcd_.ValueOf("/registry/configmaps/n/a");
  etcd_.Put("/registry/configmaps/n/a", "\x01garbage");
  EXPECT_EQ(b.Read("a"), "Internal error occurred: no matching prefix found");
  etcd_.Put("/registry/configmaps/n/a", good);
  EXPECT_EQ(b.Read("a"), "1");
  EXPECT_TRUE(b.Put("a", "2").ok());
}

}  // namespace
}  // namespace portcullis::store
