// SPDX-License-Identifier: Apache-2.0

// What is true of a store in etcd besides the contract: several stores on one etcd, answers that
// are lost, objects that expire, a history that has been compacted.

#include "store/etcd/etcd_store.h"

#include <gtest/gtest.h>

#include <future>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/memory_reserve.h"
#include "store/at_rest.h"
#include "store/etcd/rules.h"
#include "store/etcd/testing/fake_etcd.h"
#include "store/testing/objects.h"

namespace portcullis::store {
namespace {

using testing::ConfigMap;
using testing::Encode;
using testing::Names;

constexpr std::string_view kKey = "/registry/configmaps/n/a";

class EtcdStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<EtcdStore> Open(const std::string& prefix = "/registry",
                                  base::Duration request_timeout = std::chrono::seconds(60)) {
    EtcdOptions options;
    options.request_timeout = request_timeout;
    options.clock = &base::SystemClock();
    options.client.endpoints = {"fake"};
    options.prefix = prefix;
    options.decoder = [](const Key& key, std::string_view value,
                         bool& converted) -> base::Result<Encoded> {
      if (value.starts_with('{')) return FromEtcdValue(value);
      converted = true;
      if (!value.starts_with("k8s")) return base::BadRequest("unknown form");
      return Encode(key.ns, key.name, value);
    };
    auto opened = OpenEtcd(etcd_.MakeClient(), options, {});
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? *std::move(opened) : nullptr;
  }
  static base::Status Freshen(EtcdStore& store) {
    std::promise<base::Status> done;
    store.Freshen(base::SystemClock().Steady() + std::chrono::seconds(20),
                  [&](base::Status status) { done.set_value(std::move(status)); });
    return done.get_future().get();
  }
  static std::string ValueOf(const ObjectPtr& object) {
    return object == nullptr ? "none" : std::string(object->document()["data"]["value"].AsString());
  }
  static base::Result<ObjectPtr> Create(Store& store, std::string_view name,
                                        std::string_view value = "v") {
    return store.Create(ConfigMap("n", name), Encode("n", name, value));
  }
  static base::Result<ObjectPtr> Update(Store& store, std::string_view name, std::string_view value,
                                        Preconditions wanted = {}) {
    return store.Update(ConfigMap("n", name), Encode("n", name, value), wanted);
  }

  testing::FakeEtcd etcd_;
};

TEST_F(EtcdStoreTest, KeepsKubeApiserversKeysAndValues) {
  const auto store = Open();
  ASSERT_TRUE(Create(*store, "a", "1").ok());
  EXPECT_EQ(etcd_.ValueOf(std::string(kKey)),
            "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"uid-a\"},"
            "\"data\":{\"value\":\"1\"}}\n");
  const auto other = Open("/elsewhere");
  EXPECT_TRUE(other->List({"", "configmaps"}).empty());
  ASSERT_TRUE(Create(*other, "b").ok());
  EXPECT_NE(etcd_.ValueOf("/elsewhere/configmaps/n/b"), "");
  EXPECT_EQ(other->Delete(ConfigMap("n", "b"), {std::nullopt, "x"}).status().message(),
            "Operation cannot be fulfilled on configmaps \"b\": StorageError: invalid object, "
            "Code: 4, Key: /elsewhere/configmaps/n/b, ResourceVersion: 0, AdditionalErrorMsg: "
            "Precondition failed: UID in precondition: x, UID in object meta: uid-b");
}

TEST_F(EtcdStoreTest, ReadsWhatIsThereAndLeavesOtherKeysAlone) {
  etcd_.Put("/registry/masterleases/10.0.0.1", "k8s");
  etcd_.Put("/registry/configmaps/n/json", "{\"metadata\":{\"name\":\"json\"}}\n");
  etcd_.Put("/registry/configmaps/n/proto", "k8s-form");
  const auto store = Open();
  EXPECT_EQ(Names(store->List({"", "configmaps"})),
            (std::vector<std::string>{"n/json", "n/proto"}));
  EXPECT_EQ(ValueOf(store->Get(ConfigMap("n", "proto"))), "k8s-form");
  EXPECT_EQ(store->revision(), 4);
  // Without a decoder there is JSON alone.
  EtcdOptions options;
  options.clock = &base::SystemClock();
  options.client.endpoints = {"a"};
  const auto plain = OpenEtcd(etcd_.MakeClient(), options, {});
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(Names((*plain)->List({"", "configmaps"})), std::vector<std::string>{"n/json"});
  EXPECT_EQ((*plain)->WhyUnreadable(ConfigMap("n", "proto")).message(),
            "Internal error occurred: its value is not JSON");
}

TEST_F(EtcdStoreTest, GoesOnWithoutAnObjectThatCannotBeRead) {
  etcd_.Put(std::string(kKey), "\x01garbage");
  const auto store = Open();
  ASSERT_TRUE(Create(*store, "b").ok());
  EXPECT_EQ(ValueOf(store->Get(ConfigMap("n", "b"))), "v");
  EXPECT_EQ(store->Get(ConfigMap("n", "a")), nullptr);
  EXPECT_EQ(store->WhyUnreadable(ConfigMap("n", "a")).message(),
            "Internal error occurred: unknown form");
  EXPECT_EQ(
      store->ListPage({{"", "configmaps"}, "", 1}).status().message(),
      "Internal error occurred: unable to decode key \"/registry/configmaps/n/a\": unknown form");
  EXPECT_EQ(Create(*store, "a").status().reason(), base::Reason::kAlreadyExists);
  EXPECT_EQ(Update(*store, "a", "2").status().message(), "Internal error occurred: unknown form");

  etcd_.Remove(std::string(kKey));
  ASSERT_TRUE(Freshen(*store).ok());
  EXPECT_TRUE(store->ListPage({{"", "configmaps"}, "", 1}).ok());
  EXPECT_TRUE(Create(*store, "a", "3").ok());
}

TEST_F(EtcdStoreTest, KnowsWhichValuesAnotherServerWouldWriteDifferently) {
  etcd_.Put(std::string(kKey), "k8s-other");
  const auto store = Open();
  ASSERT_TRUE(Create(*store, "b").ok());
  EXPECT_TRUE(IsStale(*store, *store->Get(ConfigMap("n", "a"))));
  EXPECT_FALSE(IsStale(*store, *store->Get(ConfigMap("n", "b"))));
  ASSERT_TRUE(Update(*store, "a", "2").ok());
  EXPECT_FALSE(IsStale(*store, *store->Get(ConfigMap("n", "a"))));
}

TEST_F(EtcdStoreTest, SeesWhatAnotherServerHasAcknowledged) {
  for (const std::string version : {"3.4.23", "3.5.30"}) {
    etcd_.set_version(version);
    const auto one = Open();
    const auto two = Open();
    for (int i = 0; i < 100; ++i) {
      const std::string name = version + "-" + std::to_string(i);
      EtcdStore& writer = i % 2 == 0 ? *one : *two;
      EtcdStore& reader = i % 2 == 0 ? *two : *one;
      ASSERT_TRUE(Create(writer, name).ok());
      ASSERT_TRUE(Freshen(reader).ok());
      ASSERT_NE(reader.Get(ConfigMap("n", name)), nullptr) << version << " " << i;
    }
  }
}

TEST_F(EtcdStoreTest, NeedsNoRightsOutsideItsPrefix) {
  etcd_.GrantOnly("/registry/");
  const auto one = Open();
  const auto two = Open();
  ASSERT_TRUE(Create(*one, "a").ok());
  ASSERT_TRUE(Freshen(*two).ok());
  EXPECT_NE(two->Get(ConfigMap("n", "a")), nullptr);
}

TEST_F(EtcdStoreTest, ReachesRevisionsOfOtherKeys) {
  for (const std::string version : {"3.4.23", "3.5.30"}) {
    etcd_.set_version(version);
    const auto store = Open();
    for (int i = 0; i < 20; ++i) {
      const std::int64_t revision = etcd_.Put("elsewhere", std::to_string(i));
      ASSERT_TRUE(Freshen(*store).ok());
      EXPECT_GE(store->revision(), revision) << version;
    }
  }
}

TEST_F(EtcdStoreTest, AsksAgainForProgressThatEtcdDoesNotTell) {
  const auto store = Open();
  const std::int64_t revision = etcd_.Put("elsewhere", "1");
  etcd_.LeaveUnanswered(1);
  EXPECT_TRUE(Freshen(*store).ok());
  EXPECT_GE(store->revision(), revision);
  etcd_.Put("elsewhere", "2");
  EXPECT_TRUE(Freshen(*store).ok());
}

TEST_F(EtcdStoreTest, ARequestWaitsNoLongerForOthersThanItMay) {
  const auto store = Open();
  const auto begin = [&](std::chrono::seconds patience) {
    const auto done = std::make_shared<std::promise<base::Status>>();
    store->Freshen(base::SystemClock().Steady() + patience,
                   [done](base::Status status) { done->set_value(std::move(status)); });
    return done->get_future();
  };
  etcd_.HoldRanges(true);
  // The first of them waits for a read that etcd does not answer, the others for the next one.
  auto patient = begin(std::chrono::seconds(60));
  auto hasty = begin(std::chrono::seconds(0));
  auto next = begin(std::chrono::seconds(60));
  const bool has_ended = hasty.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  EXPECT_TRUE(has_ended);
  etcd_.HoldRanges(false);
  if (has_ended) {
    EXPECT_EQ(hasty.get().reason(), base::Reason::kTimeout);
  }
  EXPECT_TRUE(patient.get().ok());
  EXPECT_TRUE(next.get().ok());
}

TEST_F(EtcdStoreTest, SharesReadsOfTheRevision) {
  const auto store = Open();
  const int before = etcd_.ranges();
  std::atomic<int> left{1000};
  std::promise<void> all;
  for (int i = 0; i < 1000; ++i) {
    store->Freshen(base::SystemClock().Steady() + std::chrono::seconds(20),
                   [&](const base::Status& status) {
                     EXPECT_TRUE(status.ok());
                     if (--left == 0) all.set_value();
                   });
  }
  all.get_future().wait();
  EXPECT_LT(etcd_.ranges() - before, 1000);
}

TEST_F(EtcdStoreTest, JudgesAgainWhatAnotherServerHasChanged) {
  const auto store = Open();
  const ObjectPtr made = *Create(*store, "a");
  const auto by_another = [&](std::string_view value) {
    etcd_.BeforeNextTxn(
        [this, value = std::string(value)] { etcd_.Put(std::string(kKey), value); });
  };
  const std::string other =
      R"({"metadata":{"name":"a","namespace":"n","uid":"uid-a"},"data":{"value":"other"}})";
  by_another(other);
  const auto stale = Update(*store, "a", "mine", {made->revision(), {}});
  EXPECT_EQ(stale.status().reason(), base::Reason::kConflict);
  EXPECT_EQ(ValueOf(store->Get(ConfigMap("n", "a"))), "other") << "it is told when it is seen";

  by_another(other);
  const auto updated = Update(*store, "a", "mine");
  ASSERT_TRUE(updated.ok());
  EXPECT_EQ(ValueOf(*updated), "mine");

  by_another(R"({"metadata":{"name":"a","namespace":"n","uid":"new"}})");
  const auto deleted = store->Delete(ConfigMap("n", "a"), {std::nullopt, "uid-a"});
  EXPECT_EQ(deleted.status().reason(), base::Reason::kConflict);

  etcd_.BeforeNextTxn([this] { etcd_.Put("/registry/configmaps/n/b", "k8s"); });
  EXPECT_EQ(Create(*store, "b").status().reason(), base::Reason::kAlreadyExists);
}

TEST_F(EtcdStoreTest, FindsOutWhetherALostWriteHasHappened) {
  const auto store = Open();
  for (const bool is_applied : {true, false}) {
    const auto lose = [&] { is_applied ? etcd_.LoseAnswers(1) : etcd_.LoseRequests(1); };
    const std::string name = is_applied ? "applied" : "lost";
    lose();
    const auto created = Create(*store, name, "1");
    ASSERT_TRUE(created.ok()) << created.status().message();
    EXPECT_EQ(store->Get(ConfigMap("n", name)), *created);
    lose();
    const auto updated = Update(*store, name, "2", {(*created)->revision(), {}});
    ASSERT_TRUE(updated.ok()) << updated.status().message();
    EXPECT_EQ(ValueOf(store->Get(ConfigMap("n", name))), "2");
    EXPECT_EQ((*updated)->revision(), etcd_.revision()) << "it is written once";
  }
  etcd_.LoseRequests(1);
  EXPECT_TRUE(store->Delete(ConfigMap("n", "lost"), {}).ok());
  EXPECT_EQ(store->Get(ConfigMap("n", "lost")), nullptr);
  // A deletion does not tell which server has made it.
  etcd_.LoseAnswers(1);
  const auto unknown = store->Delete(ConfigMap("n", "applied"), {});
  EXPECT_EQ(unknown.status().message(), "etcdserver: request timed out");
  EXPECT_EQ(unknown.status().http_code(), 500);
  EXPECT_EQ(store->Get(ConfigMap("n", "applied")), nullptr);
}

TEST_F(EtcdStoreTest, AdmitsThatALostWriteMayHaveBeenOverwritten) {
  const auto store = Open();
  ASSERT_TRUE(Create(*store, "a", "1").ok());
  etcd_.BeforeNextTxn([this] {
    etcd_.Put(std::string(kKey), R"({"metadata":{"name":"a"},"data":{"value":"other"}})");
  });
  etcd_.LoseRequests(1);
  const auto updated = Update(*store, "a", "2");
  EXPECT_EQ(updated.status().message(), "etcdserver: request timed out");
  EXPECT_EQ(ValueOf(store->Get(ConfigMap("n", "a"))), "other");
}

TEST_F(EtcdStoreTest, LetsEventsExpireTogether) {
  const auto store = Open();
  for (const std::string name : {"a", "b", "c"}) {
    ASSERT_TRUE(store->Create({"", "events", "n", name}, Encode("n", name)).ok());
  }
  ASSERT_TRUE(Create(*store, "kept").ok());
  const std::int64_t lease = etcd_.LeaseOf("/registry/events/n/a");
  EXPECT_NE(lease, 0);
  EXPECT_EQ(etcd_.LeaseOf("/registry/events/n/c"), lease);
  EXPECT_EQ(etcd_.LeaseOf("/registry/configmaps/n/kept"), 0);

  auto watch = store->StartWatch({{"", "events"}, "", 0}, [] {});
  etcd_.Expire(lease);
  ASSERT_TRUE(Freshen(*store).ok());
  std::vector<EventPtr> events;
  ASSERT_TRUE((*watch)->Poll(1, events).ok());
  ASSERT_EQ(events.size(), 3U) << "those of one revision come together";
  for (const EventPtr& event : events) {
    EXPECT_EQ(event->type, EventType::kDeleted);
    EXPECT_EQ(event->revision, etcd_.revision());
  }
  events.clear();
  EXPECT_EQ(*(*watch)->Poll(1, events), 0U);
  EXPECT_EQ(store->Count({"", "events"}), 0U);
}

TEST_F(EtcdStoreTest, ReadsEverythingAnewWhenTheWatchIsOver) {
  struct Recorder : Observer {
    void OnCommit(std::span<const EventPtr> events) override {
      for (const EventPtr& e : events) {
        seen.insert((e->type == EventType::kDeleted ? "-"
                     : e->type == EventType::kAdded ? "+"
                                                    : "~") +
                    std::string(e->object->position()));
      }
    }
    std::multiset<std::string> seen;
  } recorder;
  const auto store = Open();
  const auto other = Open();
  const ObjectPtr same = *Create(*store, "same");
  ASSERT_TRUE(Create(*store, "changed").ok());
  ASSERT_TRUE(Create(*store, "gone").ok());
  const auto subscription = store->Subscribe({}, recorder, {});
  std::atomic<int> woken{0};
  auto watch = store->StartWatch({{"", "configmaps"}, "n", 0}, [&] { ++woken; });
  std::vector<EventPtr> events;
  ASSERT_EQ(*(*watch)->Poll(10, events), 0U);

  const std::string_view object = R"({"metadata":{"name":"x"},"data":{"value":"new"}})";
  etcd_.SetSilent(true);
  etcd_.Put("/registry/configmaps/n/changed", std::string(object));
  etcd_.Remove("/registry/configmaps/n/gone");
  etcd_.Put("/registry/configmaps/n/new", std::string(object));
  etcd_.CancelWatches();
  ASSERT_TRUE(Freshen(*store).ok());
  EXPECT_EQ(ValueOf(store->Get(ConfigMap("n", "changed"))), "new");
  EXPECT_EQ(store->Get(ConfigMap("n", "gone")), nullptr);
  EXPECT_EQ(store->Get(ConfigMap("n", "same")), same);
  EXPECT_EQ(recorder.seen, (std::multiset<std::string>{"~n/changed", "-n/gone", "+n/new"}));
  // The watch cannot know whether it has missed a version, unless the store has caught up by a watch
  // over etcd that had not ended yet.
  const base::Result<std::size_t> polled = (*watch)->Poll(10, events);
  if (polled.ok()) {
    EXPECT_EQ(*polled, 3U);
  } else {
    EXPECT_EQ(polled.status().reason(), base::Reason::kExpired);
  }
  while (woken == 0) std::this_thread::yield();
  // And it goes on.
  etcd_.SetSilent(false);
  ASSERT_TRUE(Create(*other, "later").ok());
  ASSERT_TRUE(Freshen(*store).ok());
  EXPECT_NE(store->Get(ConfigMap("n", "later")), nullptr);
}

TEST_F(EtcdStoreTest, AStopDoesNotWaitForAPageOfAnEtcdThatHangs) {
  auto store = Open();
  const int before = etcd_.ranges();
  etcd_.HoldRanges(true);
  etcd_.CancelWatches();
  while (etcd_.ranges() == before) std::this_thread::yield();
  auto stopped = std::async(std::launch::async, [&] { store.reset(); });
  EXPECT_EQ(stopped.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  etcd_.HoldRanges(false);
}

TEST_F(EtcdStoreTest, AWriteEndsInTimeWhileEverythingIsReadAnew) {
  const auto store = Open("/registry", std::chrono::seconds(1));
  const int before = etcd_.ranges();
  etcd_.HoldRanges(true);
  etcd_.CancelWatches();
  while (etcd_.ranges() == before) std::this_thread::yield();
  auto created = std::async(std::launch::async, [&] { return Create(*store, "a").status(); });
  const bool has_ended = created.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  EXPECT_TRUE(has_ended);
  etcd_.HoldRanges(false);
  if (has_ended) {
    EXPECT_EQ(created.get().reason(), base::Reason::kTimeout);
  }
  ASSERT_TRUE(Freshen(*store).ok());
  EXPECT_NE(store->Get(ConfigMap("n", "a")), nullptr);
}

TEST_F(EtcdStoreTest, AWriteOfTheNextRevisionDoesNotWaitForItsEvent) {
  const auto store = Open();
  ASSERT_TRUE(Freshen(*store).ok());
  auto watch = store->StartWatch({{"", "configmaps"}, "n", 0}, [] {});
  etcd_.SetSilent(true);
  const auto created = Create(*store, "a", "1");
  ASSERT_TRUE(created.ok());
  ASSERT_TRUE(Update(*store, "a", "2", {(*created)->revision(), {}}).ok());
  EXPECT_EQ(ValueOf(store->Get(ConfigMap("n", "a"))), "2");
  EXPECT_EQ(store->revision(), etcd_.revision());
  // The events come, and are not seen twice.
  etcd_.SetSilent(false);
  ASSERT_TRUE(store->Delete(ConfigMap("n", "a"), {}).ok());
  etcd_.Put("/registry/configmaps/n/b", R"({"metadata":{"name":"b"},"data":{"value":"3"}})");
  ASSERT_TRUE(Freshen(*store).ok());
  std::vector<EventPtr> events;
  ASSERT_EQ(*(*watch)->Poll(10, events), 4U);
  EXPECT_EQ(events[0]->type, EventType::kAdded);
  EXPECT_EQ(events[1]->previous, *created);
  EXPECT_EQ(events[2]->type, EventType::kDeleted);
  EXPECT_EQ(events[3]->object->name(), "b");
}

TEST_F(EtcdStoreTest, AWriteBehindThatOfAnotherServerWaitsForBoth) {
  const auto store = Open();
  ASSERT_TRUE(Freshen(*store).ok());
  auto watch = store->StartWatch({{"", "configmaps"}, "n", 0}, [] {});
  etcd_.BeforeNextTxn(
      [this] { etcd_.Put("/registry/configmaps/n/first", R"({"metadata":{"name":"first"}})"); });
  ASSERT_TRUE(Create(*store, "second").ok());
  std::vector<EventPtr> events;
  ASSERT_EQ(*(*watch)->Poll(10, events), 2U);
  EXPECT_EQ(events[0]->object->name(), "first");
  EXPECT_EQ(events[1]->object->name(), "second");
}

TEST_F(EtcdStoreTest, ServersThatWriteTheSameObjectLoseNothing) {
  const auto one = Open();
  const auto two = Open();
  ASSERT_TRUE(Create(*one, "counter", "0").ok());
  const auto count = [](Store& store) {
    for (int done = 0; done < 100;) {
      const ObjectPtr read = store.Get(ConfigMap("n", "counter"));
      if (read == nullptr) continue;
      const int next = std::stoi(ValueOf(read)) + 1;
      if (Update(store, "counter", std::to_string(next), {read->revision(), {}}).ok()) ++done;
    }
  };
  ASSERT_TRUE(Freshen(*two).ok());
  std::thread other([&] { count(*two); });
  count(*one);
  other.join();
  ASSERT_TRUE(Freshen(*one).ok());
  EXPECT_EQ(ValueOf(one->Get(ConfigMap("n", "counter"))), "200");
}

class Rules : public EtcdStoreTest {
 protected:
  static Key Namespace(std::string_view name) { return {"", "namespaces", "", name}; }
  // A create of a ConfigMap under these rules.
  static base::Result<ObjectPtr> CreateUnder(Store& store, std::int64_t rules,
                                             std::string_view name) {
    Change change;
    change.key = ConfigMap("n", name);
    change.object = Encode("n", name);
    change.rules_revision = rules;
    std::promise<base::Result<ObjectPtr>> done;
    store.Submit(std::move(change),
                 [&](base::Result<ObjectPtr> result) { done.set_value(std::move(result)); });
    return done.get_future().get();
  }
};

TEST_F(Rules, HaveTheRevisionOfTheLastWriteOfOne) {
  const auto one = Open();
  EXPECT_EQ(one->rules_revision(), std::nullopt);
  ASSERT_TRUE(one->Create(Namespace("a"), Encode("", "a")).ok());
  EXPECT_EQ(one->rules_revision(), one->revision());
  ASSERT_TRUE(Create(*one, "a").ok());
  const auto rules = one->rules_revision();
  EXPECT_EQ(rules, one->revision() - 1);
  const auto two = Open();
  EXPECT_EQ(two->rules_revision(), rules);
  ASSERT_TRUE(two->Delete(Namespace("a"), {}).ok());
  ASSERT_TRUE(Freshen(*one).ok());
  EXPECT_EQ(one->rules_revision(), one->revision());
}

TEST_F(Rules, OfAnotherServerRefuseAWriteUnderOlderOnes) {
  const auto one = Open();
  const auto two = Open();
  ASSERT_TRUE(one->Create(Namespace("a"), Encode("", "a")).ok());
  const std::int64_t rules = *one->rules_revision();
  EXPECT_TRUE(CreateUnder(*one, rules, "first").ok());
  // Its event has not come when the transaction is sent.
  etcd_.BeforeNextTxn([&] { EXPECT_TRUE(two->Create(Namespace("b"), Encode("", "b")).ok()); });
  EXPECT_EQ(CreateUnder(*one, rules, "second").status().reason(), base::Reason::kExpired);
  EXPECT_EQ(etcd_.ValueOf("/registry/configmaps/n/second"), "");
  EXPECT_EQ(CreateUnder(*one, rules, "second").status().reason(), base::Reason::kExpired);
  EXPECT_TRUE(CreateUnder(*one, *one->rules_revision(), "second").ok());
}

TEST_F(Rules, AreNotChangedByOtherObjects) {
  const auto one = Open();
  const Key quota{"", "resourcequotas", "n", "q"};
  ASSERT_TRUE(one->Create(quota, Encode("n", "q")).ok());
  const auto two = Open();
  etcd_.BeforeNextTxn([&] { EXPECT_TRUE(Create(*two, "a").ok()); });
  EXPECT_TRUE(CreateUnder(*one, *one->rules_revision(), "b").ok());
  const auto rules = one->rules_revision();
  ASSERT_TRUE(one->Update(quota, Encode("n", "q", "used"), {}).ok());
  EXPECT_EQ(one->rules_revision(), rules);
}

TEST_F(Rules, HaveNoRevisionOnceAServerHasWrittenOneWithoutTelling) {
  const auto one = Open();
  const auto two = Open();
  etcd_.Put("/registry/configmaps/n/a", "k8s");
  ASSERT_TRUE(two->Create(Namespace("b"), Encode("", "b")).ok());
  ASSERT_TRUE(two->Update(Namespace("b"), Encode("", "b", "new"), {}).ok());
  ASSERT_TRUE(Freshen(*one).ok());
  EXPECT_EQ(one->rules_revision(), one->revision());
  etcd_.Put("/registry/namespaces/c", "k8s");
  ASSERT_TRUE(Freshen(*one).ok());
  EXPECT_EQ(one->rules_revision(), std::nullopt);
}

TEST_F(Rules, HaveNoRevisionIfOneWasWrittenWithoutTellingBeforeEverythingIsReadAnew) {
  const auto one = Open();
  etcd_.SetSilent(true);
  ASSERT_TRUE(Open()->Create(Namespace("told"), Encode("", "told")).ok());
  etcd_.CancelWatches();
  ASSERT_TRUE(Freshen(*one).ok());
  EXPECT_EQ(one->rules_revision(), one->revision());
  etcd_.Put("/registry/namespaces/untold", "k8s");
  etcd_.CancelWatches();
  ASSERT_TRUE(Freshen(*one).ok());
  EXPECT_EQ(one->rules_revision(), std::nullopt);
}

TEST_F(Rules, ThatWereToldDoNotHideAnEarlierOneThatWasNot) {
  const auto one = Open();
  etcd_.SetSilent(true);
  etcd_.Put("/registry/namespaces/a", "k8s");
  ASSERT_TRUE(Open()->Create(Namespace("b"), Encode("", "b")).ok());
  etcd_.SetSilent(false);
  ASSERT_TRUE(Freshen(*one).ok()) << "all events come at once";
  EXPECT_NE(one->Get(Namespace("b")), nullptr);
  EXPECT_EQ(one->rules_revision(), std::nullopt);
}

TEST_F(Rules, DoNotHideThatAWriteMayHaveHappened) {
  const auto one = Open();
  etcd_.LoseAnswers(1);
  EXPECT_TRUE(CreateUnder(*one, 0, "a").ok());
  etcd_.LoseRequests(1);
  etcd_.BeforeNextTxn([this] { etcd_.Put("/registry/portcullis/rules", ""); });
  const base::Status unknown = CreateUnder(*one, 0, "b").status();
  EXPECT_FALSE(unknown.ok());
  EXPECT_NE(unknown.reason(), base::Reason::kExpired);
}

// Takes more than the process may.
class TakesMuch final : public Observer {
 public:
  void OnCommit(std::span<const EventPtr> events) override {
    base::AskForMemory(1);
    for (const EventPtr& event : events) seen.emplace_back(event->object->name());
  }
  std::vector<std::string> seen;
};

TEST_F(EtcdStoreTest, ObserversAreToldWhereMemoryIsShort) {
  const auto store = Open();
  TakesMuch observer;
  const auto subscription = store->Subscribe({}, observer, {});
  base::LimitMemory(1);
  EXPECT_TRUE(Create(*store, "own").ok());
  etcd_.Put("/registry/configmaps/n/other", "k8s");
  EXPECT_TRUE(Freshen(*store).ok());
  base::LimitMemory(std::numeric_limits<std::size_t>::max());
  EXPECT_EQ(observer.seen, (std::vector<std::string>{"own", "other"}));
}

TEST(HasRules, OfKindsByWhichOthersAreJudged) {
  for (const Collection collection :
       {Collection{"", "namespaces"},
        {"", "serviceaccounts"},
        {"", "nodes"},
        {"rbac.authorization.k8s.io", "roles"},
        {"admissionregistration.k8s.io", "validatingwebhookconfigurations"}}) {
    EXPECT_TRUE(HasRules(collection)) << collection.resource;
  }
  for (const Collection collection : {Collection{"", "pods"},
                                      {"", "configmaps"},
                                      {"apps", "deployments"},
                                      {"coordination.k8s.io", "leases"},
                                      {"stable.example.com", "crontabs"}}) {
    EXPECT_FALSE(HasRules(collection)) << collection.resource;
  }
}

}  // namespace
}  // namespace portcullis::store
