// SPDX-License-Identifier: Apache-2.0

// What the engine makes of a journal that cannot write everything.

#include "store/engine/engine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "store/shrink.h"
#include "store/testing/objects.h"

namespace portcullis::store {
namespace {

using testing::ConfigMap;
using testing::Encode;

// Holds the first commit back until `gathered` says that more writes wait, and never stores an
// object called "bad".
class Picky final : public Journal {
 public:
  base::Status Commit(std::span<const EventPtr> events,
                      std::optional<std::size_t>& culprit) override {
    const bool first = commits_++ == 0;
    while (first && !released_.load()) std::this_thread::yield();
    for (std::size_t i = 0; i < events.size(); ++i) {
      largest_ = std::max(largest_, events.size());
      if (events[i]->object->name() != "bad") continue;
      culprit = i;
      return base::InternalError("bad cannot be written");
    }
    stored_ += events.size();
    return base::OkStatus();
  }

  void Release() { released_ = true; }
  bool committing() const { return commits_.load() > 0; }
  std::size_t largest() const { return largest_; }
  std::size_t stored() const { return stored_; }

 private:
  std::atomic<int> commits_{0};
  std::atomic<bool> released_{false};
  std::size_t largest_ = 0;
  std::size_t stored_ = 0;
};

// Writes names at once, "first" before them; true for those that were stored.
std::map<std::string, bool> WriteTogether(Engine& engine, Picky& journal,
                                          const std::vector<std::string>& names) {
  std::map<std::string, bool> stored;
  base::Mutex mutex;
  const auto write = [&](const std::string& name) {
    const bool ok = engine.Create(ConfigMap("n", name), Encode("n", name)).ok();
    const base::MutexLock lock(mutex);
    stored[name] = ok;
  };
  std::vector<std::thread> threads;
  threads.emplace_back(write, "first");
  while (!journal.committing()) std::this_thread::yield();
  for (const std::string& name : names) threads.emplace_back(write, name);
  // The writers cannot be seen waiting; each of them has at most one write, so order does not
  // matter.
  for (int i = 0; i < 2000; ++i) std::this_thread::yield();
  journal.Release();
  for (auto& thread : threads) thread.join();
  return stored;
}

TEST(Engine, FailsAWriteThatCannotBeStoredAlone) {
  std::size_t shared = 0;
  for (int round = 0; round < 50 && shared < 2; ++round) {
    auto owned = std::make_unique<Picky>();
    Picky& journal = *owned;
    Engine engine(std::move(owned), {}, {});
    const auto stored = WriteTogether(engine, journal, {"a", "b", "bad", "c", "d"});
    const std::map<std::string, bool> expected = {{"first", true}, {"a", true}, {"b", true},
                                                  {"bad", false},  {"c", true}, {"d", true}};
    EXPECT_EQ(stored, expected);
    EXPECT_EQ(engine.Get(ConfigMap("n", "bad")), nullptr);
    EXPECT_EQ(engine.Count({"", "configmaps"}), 5U);
    EXPECT_EQ(journal.stored(), 5U);
    EXPECT_EQ(engine.revision(), 6) << "no revision is left out";
    EXPECT_TRUE(engine.Health().ok());
    shared = std::max(shared, journal.largest());
  }
  EXPECT_GE(shared, 2U) << "no two writes ever came together";
}

TEST(Engine, GivesBackTheOlderHalfOfItsHistory) {
  Options options;
  options.fresh_events = 4;
  Engine engine(std::make_unique<NullJournal>(), {}, options);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(
        engine.Create(ConfigMap("n", "c" + std::to_string(i)), Encode("n", "c" + std::to_string(i)))
            .ok());
  }
  const std::int64_t last = engine.revision();
  const auto reaches = [&](std::int64_t back) {
    ListRequest request{{"", "configmaps"}, "n"};
    request.revision = last - back;
    return engine.ListPage(request).ok();
  };
  EXPECT_TRUE(reaches(19));
  ShrinkHistory(engine);
  EXPECT_FALSE(reaches(11));
  EXPECT_TRUE(reaches(10));
  for (int i = 0; i < 5; ++i) ShrinkHistory(engine);
  EXPECT_FALSE(reaches(5));
  EXPECT_TRUE(reaches(4)) << "watchers have hardly seen these";
  EXPECT_EQ(engine.Count({"", "configmaps"}), 20U);
}

TEST(Engine, ForgetsDocumentsThatOnlyItHolds) {
  Engine engine(std::make_unique<NullJournal>(), {}, {});
  for (const std::string name : {"a", "b", "c"}) {
    ASSERT_TRUE(engine.Create(ConfigMap("n", name), Encode("n", name)).ok());
  }
  const auto parse = [&](std::string_view name) {
    return engine.Get(ConfigMap("n", name))->document()["metadata"]["name"].AsString() == name;
  };
  const auto is_parsed = [&](std::string_view name) {
    return engine.Get(ConfigMap("n", name))->has_document();
  };
  ASSERT_TRUE(parse("a") && parse("b") && parse("c"));
  const ObjectPtr held = engine.Get(ConfigMap("n", "b"));
  const json::Document document = DocumentOf(engine.Get(ConfigMap("n", "c")));
  ForgetDocuments(engine);
  EXPECT_FALSE(is_parsed("a"));
  EXPECT_TRUE(is_parsed("b") && is_parsed("c"));
  EXPECT_TRUE(parse("a"));
}

TEST(Engine, ForgetsEncodingsThatOnlyItHolds) {
  Engine engine(std::make_unique<NullJournal>(), {}, {});
  for (const std::string name : {"a", "b"}) {
    const auto object = engine.Create(ConfigMap("n", name), Encode("n", name));
    ASSERT_TRUE(object.ok());
    EXPECT_EQ((*object)->encoding(), "");
    EXPECT_EQ((*object)->KeepEncoding("first"), "first");
    EXPECT_EQ((*object)->KeepEncoding("second"), "first");
  }
  const ObjectPtr held = engine.Get(ConfigMap("n", "b"));
  ForgetDocuments(engine);
  EXPECT_EQ(engine.Get(ConfigMap("n", "a"))->encoding(), "");
  EXPECT_EQ(held->encoding(), "first");
}

TEST(Engine, ForgetsNoDocumentOfAnEventThatIsHeld) {
  Engine engine(std::make_unique<NullJournal>(), {}, {});
  const auto watch = engine.StartWatch({{"", "configmaps"}, "", 0}, [] {});
  ASSERT_TRUE(engine.Create(ConfigMap("n", "a"), Encode("n", "a")).ok());
  std::vector<EventPtr> events;
  ASSERT_EQ(*(*watch)->Poll(10, events), 1U);
  engine.Get(ConfigMap("n", "a"))->document();
  ForgetDocuments(engine);
  EXPECT_TRUE(events[0]->object->has_document());
  events.clear();
  ForgetDocuments(engine);
  EXPECT_FALSE(engine.Get(ConfigMap("n", "a"))->has_document());
}

TEST(Engine, ForgetsDocumentsWhileTheyAreRead) {
  Engine engine(std::make_unique<NullJournal>(), {}, {});
  for (int i = 0; i < 100; ++i) {
    const std::string name = "c" + std::to_string(i);
    ASSERT_TRUE(engine.Create(ConfigMap("n", name), Encode("n", name)).ok());
  }
  std::atomic<bool> done = false;
  std::thread forgetting([&] {
    while (!done) ForgetDocuments(engine);
  });
  for (int i = 0; i < 20000; ++i) {
    const std::string name = "c" + std::to_string(i % 100);
    const ObjectPtr object = engine.Get(ConfigMap("n", name));
    ASSERT_EQ(object->document()["metadata"]["name"].AsString(), name);
  }
  done = true;
  forgetting.join();
}

TEST(Engine, ADocumentOfAnObjectKeepsTheObject) {
  json::Document document;
  std::weak_ptr<const Object> object;
  {
    Engine engine(std::make_unique<NullJournal>(), {}, {});
    const ObjectPtr made = *engine.Create(ConfigMap("n", "a"), Encode("n", "a"));
    object = made;
    document = DocumentOf(made);
  }
  EXPECT_EQ(document["metadata"]["name"].AsString(), "a");
  document = {};
  EXPECT_TRUE(object.expired());
}

TEST(Engine, RefusesWhatNoObjectCanHold) {
  Engine engine(std::make_unique<NullJournal>(), {}, {});
  const auto refused = engine.Create(ConfigMap("n", "a"), {std::string((1U << 28) + 1, 'x'), 0});
  EXPECT_EQ(refused.status().message(), "etcdserver: request is too large");
  EXPECT_EQ(engine.revision(), 1);
}

}  // namespace
}  // namespace portcullis::store
