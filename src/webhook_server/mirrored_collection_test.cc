// SPDX-License-Identifier: Apache-2.0

#include "webhook_server/mirrored_collection.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>

#include "base/strings.h"
#include "engine/engine.h"
#include "net/testing/test_server.h"

namespace portcullis::webhook_server {
namespace {

using net::testing::ExchangeQueue;

std::string Namespace(std::string_view name, int version) {
  const std::string number = std::to_string(version);
  return base::StrCat(R"({"kind":"Namespace","apiVersion":"v1","metadata":{"name":")", name,
                      R"(","uid":")", name, R"(","resourceVersion":")", number,
                      R"(","labels":{"version":")", number, R"("}}})");
}

// A cluster that lists one namespace, of version 5, at version 10, and whose watch is the test's.
class MirroredCollectionTest : public ::testing::Test {
 protected:
  void Begin(MirroredCollection::Mode mode) {
    engine_ = engine::Engine::Create({.read_only = true}).value();
    kubeconfig::ClientConfig config;
    config.url = server_.Url("");
    client_.emplace(kubeconfig::Client::Create(config, {}, server_.client.get()).value());
    collection_.emplace(MirrorEnds{engine_->world(), *client_, *client_, kept_},
                        api::GroupResource{"", "namespaces"}, mode, [this] { Changed(); });
  }

  // After the collection has taken in what comes of it.
  void Send(std::string_view type, const std::string& object) {
    if (watch_ == nullptr) {
      watch_ = watches_.Take();
      net::ResponseHead head;
      head.status = 200;
      watch_->Start(std::move(head));
    }
    std::unique_lock<std::mutex> lock(mutex_);
    const int before = changes_;
    watch_->Write(base::StrCat(R"({"type":")", type, R"(","object":)", object, "}\n"));
    EXPECT_TRUE(
        changed_.wait_for(lock, std::chrono::seconds(20), [&] { return changes_ > before; }));
  }

  // The cluster answers with the object, or that there is none.
  void Fetch(std::string_view name, const std::string& object) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      object_ = object;
    }
    collection_->Fetch("", name);
  }

  // The version of what the store has; "": nothing.
  std::string Stored(std::string_view name) {
    const auto found = engine_->world().store->Get({"", "namespaces", "", name});
    if (found == nullptr) return "";
    return std::string(found->document()["metadata"]["labels"]["version"].AsString());
  }

  void AwaitList() {
    std::unique_lock<std::mutex> lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, std::chrono::seconds(20), [&] { return changes_ > 0; }));
  }

 private:
  void Changed() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++changes_;
    changed_.notify_all();
  }

  void Answer(const std::shared_ptr<net::Exchange>& exchange) {
    const std::string& target = exchange->request().target;
    if (target.find("watch=true") != std::string::npos) return watches_.Push(exchange);
    net::Response response;
    if (target.find('?') != std::string::npos) {
      response.body = base::StrCat(R"({"metadata":{"resourceVersion":"10"},"items":[)",
                                   Namespace("a", 5), "]}");
    } else {
      const std::lock_guard<std::mutex> lock(mutex_);
      response.body = object_;
      if (object_.empty()) response.status = 404;
    }
    exchange->Respond(std::move(response));
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int changes_ = 0;
  std::string object_;
  ExchangeQueue watches_;
  std::shared_ptr<net::Exchange> watch_;
  net::testing::TestServer server_{
      [this](const std::shared_ptr<net::Exchange>& exchange) { Answer(exchange); }, {}, false};
  std::set<std::string> kept_;
  std::unique_ptr<engine::Engine> engine_;
  std::optional<kubeconfig::Client> client_;
  std::optional<MirroredCollection> collection_;  // last: its thread uses the rest
};

TEST_F(MirroredCollectionTest, TakesWhatIsNewerThanTheWatch) {
  Begin(MirroredCollection::Mode::kFollows);
  AwaitList();
  EXPECT_EQ(Stored("a"), "5");
  Fetch("a", Namespace("a", 11));
  EXPECT_EQ(Stored("a"), "11");
  Fetch("b", Namespace("b", 12));
  EXPECT_EQ(Stored("b"), "12");
}

TEST_F(MirroredCollectionTest, KeepsANewerObjectThanTheOneFetched) {
  Begin(MirroredCollection::Mode::kFollows);
  AwaitList();
  Send("MODIFIED", Namespace("a", 12));
  Fetch("a", Namespace("a", 11));
  EXPECT_EQ(Stored("a"), "12");
}

TEST_F(MirroredCollectionTest, BringsNothingBackThatHasBeenDeleted) {
  Begin(MirroredCollection::Mode::kFollows);
  AwaitList();
  Send("DELETED", Namespace("a", 13));
  Fetch("a", Namespace("a", 12));
  EXPECT_EQ(Stored("a"), "");
}

TEST_F(MirroredCollectionTest, KeepsWhatTheWatchHasAndAFetchDidNotFind) {
  Begin(MirroredCollection::Mode::kFollows);
  AwaitList();
  Send("ADDED", Namespace("b", 12));
  Fetch("b", "");
  EXPECT_EQ(Stored("b"), "12");
}

TEST_F(MirroredCollectionTest, FetchesInAnyOrder) {
  Begin(MirroredCollection::Mode::kFetches);
  Fetch("a", Namespace("a", 12));
  Fetch("a", Namespace("a", 11));
  EXPECT_EQ(Stored("a"), "12");
  Fetch("a", "");
  EXPECT_EQ(Stored("a"), "");
}

}  // namespace
}  // namespace portcullis::webhook_server
