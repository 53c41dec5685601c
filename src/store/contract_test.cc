// SPDX-License-Identifier: Apache-2.0

// What every store must do, whatever it keeps its objects in.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <deque>
#include <filesystem>
#include <future>
#include <thread>

#include "base/mutex.h"
#include "base/strings.h"
#include "base/testing/temporary_folder.h"
#include "store/embedded/embedded_store.h"
#include "store/etcd/etcd_store.h"
#include "store/etcd/testing/fake_etcd.h"
#include "store/memory/memory_store.h"
#include "store/testing/objects.h"

namespace portcullis::store {
namespace {

using testing::ConfigMap;
using testing::Encode;
using testing::Names;

class StoreContract : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { Open({}); }
  void Open(const Options& options) {
    store_.reset();
    if (GetParam() == "memory") {
      store_ = OpenMemory(options);
    } else if (GetParam().starts_with("etcd_")) {
      etcd_.set_version(GetParam() == "etcd_without_progress" ? "3.4.23" : "3.5.30");
      EtcdOptions etcd;
      etcd.clock = &base::SystemClock();
      etcd.client.endpoints = {"fake"};
      auto opened = OpenEtcd(etcd_.MakeClient(), etcd, options);
      ASSERT_TRUE(opened.ok()) << opened.status().message();
      store_ = std::move(opened).value();
    } else {
      auto opened = OpenEmbedded(folder_.path() + "/store.db", options);
      ASSERT_TRUE(opened.ok()) << opened.status().message();
      store_ = std::move(opened).value();
    }
  }
  ObjectPtr Create(std::string_view ns, std::string_view name, std::string_view value = "") {
    auto made = store_->Create(ConfigMap(ns, name), Encode(ns, name, value));
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.ok() ? *made : nullptr;
  }
  ObjectPtr Update(std::string_view ns, std::string_view name, std::string_view value = "") {
    auto made = store_->Update(ConfigMap(ns, name), Encode(ns, name, value), {});
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.ok() ? *made : nullptr;
  }
  ObjectPtr Delete(std::string_view ns, std::string_view name) {
    auto made = store_->Delete(ConfigMap(ns, name), {});
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.ok() ? *made : nullptr;
  }
  std::unique_ptr<Watch> StartWatch(std::int64_t after, std::string_view ns = {}) {
    auto watch = store_->StartWatch({{"", "configmaps"}, ns, after}, [this] { ++woken_; });
    EXPECT_TRUE(watch.ok()) << watch.status().message();
    return watch.ok() ? std::move(watch).value() : nullptr;
  }
  static std::vector<std::string> Poll(Watch& watch, std::size_t max = 100) {
    std::vector<EventPtr> events;
    auto found = watch.Poll(max, events);
    if (!found.ok()) return {found.status().message()};
    EXPECT_EQ(*found, events.size());
    std::vector<std::string> out;
    for (const EventPtr& e : events) {
      const char* type = e->type == EventType::kAdded      ? "+"
                         : e->type == EventType::kModified ? "~"
                                                           : "-";
      out.push_back(base::StrCat(type, e->object->position(), "@", std::to_string(e->revision)));
    }
    return out;
  }

  base::TemporaryFolder folder_;
  testing::FakeEtcd etcd_;
  std::atomic<int> woken_{0};
  std::unique_ptr<Store> store_;
};

const Collection kConfigMaps{"", "configmaps"};
using Strings = std::vector<std::string>;

TEST_P(StoreContract, DeletesOnlyVersionsThatAreStillTheNewest) {
  const ObjectPtr kept = Create("a", "changed");
  const ObjectPtr gone = Create("a", "gone");
  const ObjectPtr other = Create("b", "same");
  Update("a", "changed");
  Delete("a", "gone");
  const auto watch = StartWatch(0);
  std::vector<Version> versions;
  for (const ObjectPtr& object : {kept, gone, other}) {
    versions.push_back({ConfigMap(object->ns(), object->name()), object->revision()});
  }
  EXPECT_TRUE(store_->DeleteVersions(versions).ok());
  EXPECT_EQ(Poll(*watch), (Strings{"-b/same@7"}));
  EXPECT_EQ(Names(store_->List(kConfigMaps)), (Strings{"a/changed"}));
  EXPECT_TRUE(store_->DeleteVersions({}).ok());
}

TEST_P(StoreContract, DeletesVersionsWhileOthersWrite) {
  std::vector<ObjectPtr> made;
  for (int i = 0; i < 200; ++i) made.push_back(Create("a", std::to_string(i)));
  std::thread writer([&] {
    for (int i = 0; i < 200; ++i) Create("b", std::to_string(i));
  });
  for (std::size_t i = 0; i < made.size(); i += 20) {
    std::vector<Version> versions;
    for (const ObjectPtr& object : std::span(made).subspan(i, 20)) {
      versions.push_back({ConfigMap("a", object->name()), object->revision()});
    }
    EXPECT_TRUE(store_->DeleteVersions(versions).ok());
  }
  writer.join();
  EXPECT_EQ(store_->List(kConfigMaps, "a").size(), 0U);
  EXPECT_EQ(store_->List(kConfigMaps, "b").size(), 200U);
}

TEST_P(StoreContract, StartsAtRevisionOneLikeEtcd) {
  EXPECT_EQ(store_->revision(), 1);
  EXPECT_EQ(Create("a", "x")->revision(), 2);
  EXPECT_EQ(Create("a", "y")->revision(), 3);
  EXPECT_EQ(store_->revision(), 3);
}

TEST_P(StoreContract, PutsTheRevisionIntoTheBytes) {
  ObjectPtr made = Create("a", "x", "hello");

  EXPECT_EQ(made->bytes(),
            R"({"metadata":{"name":"x","namespace":"a","uid":"uid-x","resourceVersion":"2"},)"
            R"("data":{"value":"hello"}})");
  EXPECT_EQ(made->document()["metadata"]["resourceVersion"].AsString(), "2");
  EXPECT_EQ(made->uid(), "uid-x");
  // Where Kubernetes writes it, and where it must not be mistaken.
  const std::pair<std::string_view, std::string_view> texts[] = {
      {R"({"metadata":{"name":"k","uid":"one","resourceVersion":""}})", "one"},
      {R"({"metadata":{"name":"l","labels":{"uid":"no"},"resourceVersion":"","uid":"two"}})",
       "two"},
      {R"({"metadata":{"name":"m","uid":"\\","resourceVersion":""}})", "\\"},
      {R"({"metadata":{"name":"n","x":"\"uid\":\"no","resourceVersion":""}})", ""}};
  for (const auto& [text, uid] : texts) {
    const auto stored =
        store_->Create(ConfigMap("u", text.substr(21, 1)), testing::EncodeText(text));
    ASSERT_TRUE(stored.ok());
    EXPECT_EQ((*stored)->uid(), uid) << text;
  }
  EXPECT_EQ(made->ns(), "a");
  EXPECT_EQ(made->name(), "x");
  EXPECT_EQ(made->resource(), "configmaps");
}

TEST_P(StoreContract, GivesBackWhatWasStored) {
  ObjectPtr made = Create("a", "x");

  EXPECT_EQ(store_->Get(ConfigMap("a", "x")), made);
  EXPECT_EQ(store_->Get(ConfigMap("a", "y")), nullptr);
  EXPECT_EQ(store_->Get(ConfigMap("b", "x")), nullptr);
  EXPECT_EQ(store_->Get({"", "secrets", "a", "x"}), nullptr);
  EXPECT_EQ(store_->Get({"other", "configmaps", "a", "x"}), nullptr);
}

TEST_P(StoreContract, RefusesToCreateTwice) {
  Create("a", "x");
  auto again = store_->Create(ConfigMap("a", "x"), Encode("a", "x"));

  EXPECT_EQ(again.status().reason(), base::Reason::kAlreadyExists);
  EXPECT_EQ(again.status().message(), "configmaps \"x\" already exists");
  EXPECT_EQ(store_->revision(), 2);
}

TEST_P(StoreContract, UpdatesOnlyTheExpectedRevision) {
  ObjectPtr made = Create("a", "x");
  auto updated = store_->Update(ConfigMap("a", "x"), Encode("a", "x", "1"), {made->revision(), {}});
  ASSERT_TRUE(updated.ok());
  EXPECT_EQ((*updated)->revision(), 3);

  auto stale = store_->Update(ConfigMap("a", "x"), Encode("a", "x", "2"), {made->revision(), {}});
  EXPECT_EQ(stale.status().reason(), base::Reason::kConflict);
  EXPECT_EQ(stale.status().message(),
            "Operation cannot be fulfilled on configmaps \"x\": the object has been modified; "
            "please apply your changes to the latest version and try again");
  auto missing = store_->Update(ConfigMap("a", "y"), Encode("a", "y"), {});
  EXPECT_EQ(missing.status().reason(), base::Reason::kNotFound);
  EXPECT_EQ(missing.status().message(), "configmaps \"y\" not found");
}

TEST_P(StoreContract, ChecksTheUidBeforeDeleting) {
  Create("a", "x");
  auto refused = store_->Delete(ConfigMap("a", "x"), {std::nullopt, "other"});

  EXPECT_EQ(refused.status().reason(), base::Reason::kConflict);
  EXPECT_EQ(
      refused.status().message(),
      "Operation cannot be fulfilled on configmaps \"x\": StorageError: invalid object, Code: "
      "4, Key: /registry/configmaps/a/x, ResourceVersion: 0, AdditionalErrorMsg: Precondition "
      "failed: UID in precondition: other, UID in object meta: uid-x");
  EXPECT_TRUE(store_->Delete(ConfigMap("a", "x"), {std::nullopt, "uid-x"}).ok());
}

TEST_P(StoreContract, DeletionHasARevisionOfItsOwn) {
  Create("a", "x", "v");
  ObjectPtr last = Delete("a", "x");

  EXPECT_EQ(last->revision(), 3);
  EXPECT_EQ(last->document()["metadata"]["resourceVersion"].AsString(), "3");
  EXPECT_EQ(last->document()["data"]["value"].AsString(), "v");
  EXPECT_EQ(store_->Get(ConfigMap("a", "x")), nullptr);
  EXPECT_EQ(store_->revision(), 3);
  EXPECT_EQ(store_->Delete(ConfigMap("a", "x"), {}).status().reason(), base::Reason::kNotFound);
}

TEST_P(StoreContract, ListsInTheOrderOfEtcdKeys) {
  for (auto [ns, name] : {std::pair{"b", "1"}, {"a", "2"}, {"a", "10"}, {"a-b", "0"}}) {
    Create(ns, name);
  }
  // '-' sorts before '/', hence "a-b/0" before "a/10".
  EXPECT_EQ(Names(store_->List(kConfigMaps)), (Strings{"a-b/0", "a/10", "a/2", "b/1"}));
  EXPECT_EQ(Names(store_->List(kConfigMaps, "a")), (Strings{"a/10", "a/2"}));
  EXPECT_EQ(Names(store_->List({"", "secrets"})), Strings{});
  EXPECT_EQ(store_->Count(kConfigMaps), 4U);
}

TEST_P(StoreContract, ContinuesAListAtItsRevision) {
  for (const char* name : {"a", "b", "c", "d"}) Create("n", name, "old");
  auto first = store_->ListPage({kConfigMaps, "n", 2, {}, 0});
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(Names(first->objects), (Strings{"n/a", "n/b"}));
  EXPECT_EQ(first->remaining, 2U);
  EXPECT_EQ(first->revision, 5);

  Delete("n", "c");
  Update("n", "d", "new");
  Create("n", "cc");
  Create("n", "e");
  auto second = store_->ListPage({kConfigMaps, "n", 2, "n/b", first->revision});
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(Names(second->objects), (Strings{"n/c", "n/d"}));
  EXPECT_EQ(second->objects[1]->document()["data"]["value"].AsString(), "old");
  EXPECT_EQ(second->remaining, 0U);
  EXPECT_EQ(second->revision, 5);
  EXPECT_EQ(Names(store_->ListPage({kConfigMaps, "n", 0, {}, 0})->objects),
            (Strings{"n/a", "n/b", "n/cc", "n/d", "n/e"}));
}

TEST_P(StoreContract, RefusesAListOlderThanTheHistory) {
  Open({.history_events = 2});
  for (const char* name : {"a", "b", "c", "d"}) Create("n", name);

  auto continued = store_->ListPage({kConfigMaps, {}, 2, "n/a", 2});
  EXPECT_EQ(continued.status().reason(), base::Reason::kExpired);
  EXPECT_EQ(continued.status().message().substr(0, 74),
            "The provided continue parameter is too old to display a consistent list re");
  auto exact = store_->ListPage({kConfigMaps, {}, 0, {}, 2});
  EXPECT_EQ(exact.status().message(), "The resourceVersion for the provided list is too old.");
  auto future = store_->ListPage({kConfigMaps, {}, 0, {}, 100});
  EXPECT_EQ(future.status().reason(), base::Reason::kTimeout);
}

TEST_P(StoreContract, WatchTellsWhatHappenedSinceARevision) {
  Create("n", "a");
  auto watch = StartWatch(1);
  Update("n", "a");
  Delete("n", "a");
  Create("other", "b");

  EXPECT_EQ(Poll(*watch, 2), (Strings{"+n/a@2", "~n/a@3"}));
  EXPECT_EQ(Poll(*watch), (Strings{"-n/a@4", "+other/b@5"}));
  EXPECT_EQ(Poll(*watch), Strings{});
  EXPECT_EQ(watch->revision(), 5);
}

TEST_P(StoreContract, WatchOfANamespaceMovesOnWithoutEvents) {
  Open({.history_events = 2});
  auto watch = StartWatch(0, "mine");
  for (int i = 0; i < 5; ++i) Create("other", "x" + std::to_string(i));

  EXPECT_EQ(Poll(*watch), Strings{});
  EXPECT_EQ(watch->revision(), 6);
  Create("mine", "a");
  EXPECT_EQ(Poll(*watch), Strings{"+mine/a@7"});
}

TEST_P(StoreContract, WatchThatFallsOutOfTheHistoryExpires) {
  Open({.history_events = 2});
  auto watch = StartWatch(0);
  for (int i = 0; i < 5; ++i) Create("n", "x" + std::to_string(i));

  EXPECT_EQ(Poll(*watch), Strings{"too old resource version: 1 (4)"});
  auto late = store_->StartWatch({kConfigMaps, {}, 3}, [] {});
  EXPECT_EQ(late.status().reason(), base::Reason::kExpired);
  EXPECT_EQ(late.status().message(), "too old resource version: 3 (4)");
}

TEST_P(StoreContract, ModifiedAndDeletedCarryThePreviousObject) {
  auto watch = StartWatch(0);
  ObjectPtr first = Create("n", "a");
  ObjectPtr second = Update("n", "a");
  Delete("n", "a");

  std::vector<EventPtr> events;
  ASSERT_TRUE(watch->Poll(10, events).ok());
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0]->previous, nullptr);
  EXPECT_EQ(events[1]->previous, first);
  EXPECT_EQ(events[2]->previous, second);
}

TEST_P(StoreContract, WakesAWatchThatHasSeenEverything) {
  auto watch = StartWatch(0);
  EXPECT_EQ(Poll(*watch), Strings{});
  const int before = woken_;

  Create("n", "a");
  while (woken_ == before) std::this_thread::yield();
  EXPECT_EQ(Poll(*watch), Strings{"+n/a@2"});
}

TEST_P(StoreContract, TenThousandWatchesAreWokenByOneWrite) {
  std::vector<std::unique_ptr<Watch>> watches;
  for (int i = 0; i < 10000; ++i) {
    watches.push_back(StartWatch(0, i % 2 == 0 ? "n" : "other"));
    EXPECT_EQ(Poll(*watches.back()), Strings{});
  }
  const int before = woken_;

  Create("n", "a");
  while (woken_ - before < 5000) std::this_thread::yield();
  std::vector<EventPtr> events;
  for (auto& watch : watches) ASSERT_TRUE(watch->Poll(10, events).ok());
  EXPECT_EQ(events.size(), 5000U);
  for (const EventPtr& event : events) EXPECT_EQ(event, events.front());  // shared, not copied
  EXPECT_EQ(woken_ - before, 5000);
}

TEST_P(StoreContract, ObserversAreToldBeforeTheWriteReturns) {
  struct Recorder : Observer {
    void OnCommit(std::span<const EventPtr> events) override {
      for (const EventPtr& e : events) seen.emplace_back(e->object->position());
    }
    Strings seen;
  } recorder;
  Create("n", "before");
  bool started = false;
  auto subscription = store_->Subscribe({kConfigMaps}, recorder,
                                        [&] { started = store_->Count(kConfigMaps) == 1; });
  EXPECT_TRUE(started);

  Create("n", "a");
  EXPECT_EQ(recorder.seen, Strings{"n/a"});
  ASSERT_TRUE(store_->Create({"", "secrets", "n", "s"}, Encode("n", "s")).ok());
  EXPECT_EQ(recorder.seen, Strings{"n/a"});
  subscription.reset();
  Create("n", "b");
  EXPECT_EQ(recorder.seen, Strings{"n/a"});
}

TEST_P(StoreContract, ObserversAreToldOfWhatTheyAskForInTheOrderOfSubscription) {
  struct Recorder : Observer {
    Recorder(std::string own_name, Strings& all) : name(std::move(own_name)), seen(all) {}
    void OnCommit(std::span<const EventPtr> events) override {
      for (const EventPtr& e : events) {
        seen.push_back(base::StrCat(name, " ", e->object->resource(), "/", e->object->name()));
      }
    }
    const std::string name;
    Strings& seen;
  };
  Strings seen;
  Recorder all("all", seen);
  Recorder both("both", seen);
  Recorder secrets("secrets", seen);
  const Collection kSecrets{"", "secrets"};
  const auto first = store_->Subscribe({kConfigMaps, kSecrets, kSecrets}, both, {});
  const auto second = store_->Subscribe({}, all, {});
  const auto third = store_->Subscribe({kSecrets}, secrets, {});

  Create("n", "a");
  ASSERT_TRUE(store_->Create({"", "secrets", "n", "s"}, Encode("n", "s")).ok());
  ASSERT_TRUE(store_->Create({"", "pods", "n", "p"}, Encode("n", "p")).ok());
  EXPECT_EQ(seen, (Strings{"both configmaps/a", "all configmaps/a", "both secrets/s",
                           "all secrets/s", "secrets secrets/s", "all pods/p"}));
}

TEST_P(StoreContract, ClusterScopedObjectsHaveNoNamespace) {
  ASSERT_TRUE(store_->Create({"", "namespaces", "", "prod"}, Encode("", "prod")).ok());

  ObjectPtr found = store_->Get({"", "namespaces", "", "prod"});
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->ns(), "");
  EXPECT_EQ(found->name(), "prod");
  EXPECT_EQ(Names(store_->List({"", "namespaces"})), Strings{"prod"});
}

TEST_P(StoreContract, ConcurrentWritersEachGetTheirOwnRevision) {
  constexpr int kThreads = 8;
  constexpr int kWrites = 50;
  auto watch = StartWatch(0);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      const std::string ns = "n" + std::to_string(t);
      for (int i = 0; i < kWrites; ++i) {
        ObjectPtr made = Create(ns, std::to_string(i));
        EXPECT_EQ(store_->Get(ConfigMap(ns, std::to_string(i))), made);
        EXPECT_EQ(store_->List(kConfigMaps, ns).size(), static_cast<std::size_t>(i + 1));
      }
    });
  }
  std::vector<EventPtr> events;
  while (events.size() < kThreads * kWrites) ASSERT_TRUE(watch->Poll(64, events).ok());
  for (auto& thread : threads) thread.join();

  EXPECT_EQ(store_->revision(), 1 + kThreads * kWrites);
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i]->revision, static_cast<std::int64_t>(i) + 2);
  }
}

// Submits creates of the names "0" to "<count-1>" in a namespace and counts the answers.
class Submissions {
 public:
  Submissions(Store& store, std::string ns) : store_(store), ns_(std::move(ns)) {}

  void Create(int number) {
    const std::string& name = names_.emplace_back(std::to_string(number));
    Change change;
    change.key = ConfigMap(ns_, name);
    change.object = Encode(ns_, name, "");
    store_.Submit(std::move(change), [this, &name](const base::Result<ObjectPtr>& made) {
      // Visible to readers before its writer hears of it.
      const bool is_stored = made.ok() && store_.Get(ConfigMap(ns_, name)) == *made;
      base::MutexLock lock(mutex_);
      (is_stored ? stored_ : refused_) += 1;
      answered_.NotifyAll();
    });
  }
  // Waits for all of them.
  std::pair<int, int> StoredAndRefused() {
    base::MutexLock lock(mutex_);
    while (stored_ + refused_ < static_cast<int>(names_.size())) answered_.Wait(mutex_);
    return {stored_, refused_};
  }

 private:
  Store& store_;
  const std::string ns_;
  std::deque<std::string> names_;
  base::Mutex mutex_;
  base::CondVar answered_;
  int stored_ PC_GUARDED_BY(mutex_) = 0;
  int refused_ PC_GUARDED_BY(mutex_) = 0;
};

TEST_P(StoreContract, AnswersWritersThatDoNotWait) {
  Create("a", "7");
  Submissions submissions(*store_, "a");
  for (int i = 0; i < 20; ++i) submissions.Create(i);
  EXPECT_EQ(submissions.StoredAndRefused(), (std::pair{19, 1}));
  EXPECT_EQ(store_->List(kConfigMaps).size(), 20U);
}

TEST_P(StoreContract, WritersThatWaitAndThatDoNotWorkSideBySide) {
  constexpr int kEach = 300;
  std::vector<std::thread> threads;
  for (const std::string ns : {"a", "b"}) {
    threads.emplace_back([&, ns] {
      Submissions submissions(*store_, ns);
      for (int i = 0; i < kEach; ++i) submissions.Create(i);
      EXPECT_EQ(submissions.StoredAndRefused(), (std::pair{kEach, 0}));
    });
  }
  for (const std::string ns : {"c", "d"}) {
    threads.emplace_back([&, ns] {
      for (int i = 0; i < kEach; ++i) Create(ns, std::to_string(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store_->List(kConfigMaps).size(), 4U * kEach);
  EXPECT_EQ(store_->revision(), 1 + 4 * kEach);
}

TEST_P(StoreContract, UpdatesAndDeletesWithoutWaiting) {
  const ObjectPtr made = Create("a", "x");
  std::promise<std::string> updated;
  std::promise<base::Reason> deleted;
  Change change;
  change.kind = Change::Kind::kUpdate;
  change.key = ConfigMap("a", "x");
  change.object = Encode("a", "x", "new");
  change.preconditions.revision = made->revision();
  store_->Submit(std::move(change), [&](const base::Result<ObjectPtr>& stored) {
    updated.set_value(stored.ok() ? std::to_string((*stored)->revision())
                                  : std::string(stored.status().message()));
  });
  EXPECT_EQ(updated.get_future().get(), "3");
  Change removal;
  removal.kind = Change::Kind::kDelete;
  removal.key = ConfigMap("a", "x");
  removal.preconditions.revision = made->revision();
  store_->Submit(std::move(removal), [&](const base::Result<ObjectPtr>& stored) {
    deleted.set_value(stored.status().reason());
  });
  EXPECT_EQ(deleted.get_future().get(), base::Reason::kConflict);
}

TEST_P(StoreContract, OnlyOneOfManyUpdatesOfARevisionWins) {
  const std::int64_t revision = Create("n", "a")->revision();
  std::atomic<int> won{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      auto done = store_->Update(ConfigMap("n", "a"), Encode("n", "a"), {revision, {}});
      if (done.ok()) {
        ++won;
      } else {
        EXPECT_EQ(done.status().reason(), base::Reason::kConflict);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(won, 1);
}

TEST_P(StoreContract, WatchesMayComeAndGoWhileOthersWrite) {
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) Create("n", "x" + std::to_string(i));
  });
  for (int i = 0; i < 200; ++i) {
    auto watch = StartWatch(0, i % 2 == 0 ? "" : "n");
    std::vector<EventPtr> events;
    EXPECT_TRUE(watch->Poll(10, events).ok());
    auto subscription_target = store_->ListPage({kConfigMaps, "n", 10, {}, 0});
    EXPECT_TRUE(subscription_target.ok());
  }
  stop = true;
  writer.join();
}

// Large versions that have been replaced are compressed in time; readers notice nothing.
TEST_P(StoreContract, OldVersionsOfLargeObjectsAreAllThere) {
  Options options;
  options.large_bytes = 1000;
  options.fresh_events = 4;
  Open(options);
  const auto value = [](int number) { return std::string(5000, static_cast<char>('a' + number)); };
  const std::int64_t before = store_->revision();
  Create("a", "x", value(0));
  std::vector<std::int64_t> revisions;
  for (int i = 1; i < 12; ++i) revisions.push_back(Update("a", "x", value(i))->revision());
  Create("a", "y", "small");
  Delete("a", "x");
  for (int i = 0; i < 6; ++i) Create("b", "z" + std::to_string(i), "small");
  const auto holds = [](const ObjectPtr& object, const std::string& text) {
    return object != nullptr && object->bytes().find(text) != std::string_view::npos;
  };

  auto watch = StartWatch(before);
  std::vector<EventPtr> events;
  ASSERT_EQ(watch->Poll(100, events).value(), 20U);
  for (int i = 0; i < 12; ++i) {
    const Event& event = *events[static_cast<std::size_t>(i)];
    EXPECT_TRUE(holds(event.object, value(i))) << i;
    EXPECT_EQ(event.object->revision(), event.revision);
    EXPECT_TRUE(holds(event.object, std::to_string(event.revision))) << i;
    EXPECT_EQ(event.object->document()["metadata"]["name"].AsString(), "x");
    EXPECT_TRUE(i == 0 || holds(event.previous, value(i - 1))) << i;
  }
  EXPECT_TRUE(holds(events[13]->object, value(11)));
  EXPECT_TRUE(holds(events[13]->previous, value(11)));
  for (int i = 0; i < 11; ++i) {
    ListRequest request{.collection = {"", "configmaps"},
                        .revision = revisions[static_cast<std::size_t>(i)]};
    const auto page = store_->ListPage(request);
    ASSERT_TRUE(page.ok());
    ASSERT_EQ(page->objects.size(), 1U);
    EXPECT_TRUE(holds(page->objects[0], value(i + 1))) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, StoreContract,
                         ::testing::Values("memory", "embedded", "etcd_with_progress",
                                           "etcd_without_progress"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace portcullis::store
