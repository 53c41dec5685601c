// SPDX-License-Identifier: Apache-2.0

#include "controllers/garbage_collector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/strings.h"
#include "base/testing/fake_clock.h"
#include "kube_cel/compiler.h"
#include "release/release.h"
#include "store/memory/memory_store.h"
#include "store/testing/objects.h"
#include "store/testing/partly_readable.h"

namespace portcullis::controllers {
namespace {

// Keeps what was asked for.
class Asked final : public Client {
 public:
  base::Result<store::ObjectPtr> Do(const Request& request) override {
    requests.push_back(
        base::StrCat(engine::VerbName(request.verb), " ", request.resource.resource));
    return store::ObjectPtr();
  }
  std::vector<std::string> requests;
};

class GarbageCollectorTest : public ::testing::Test {
 protected:
  store::ObjectPtr Create(std::string_view resource, std::string_view ns, const std::string& name,
                          std::string_view uid, std::string_view rest = "") {
    auto made = store_->Create({"", resource, ns, name},
                               store::testing::EncodeText(base::StrCat(
                                   R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")",
                                   name, R"(","namespace":")", ns, R"(","uid":")", uid,
                                   R"(","resourceVersion":"")", rest, "}}")));
    EXPECT_TRUE(made.ok());
    return made.ok() ? *made : nullptr;
  }

  // A ConfigMap that names Secrets as its owners, by their uids.
  void Own(std::string_view uid, const std::vector<std::string>& owners) {
    std::string references;
    for (const std::string& owner : owners) {
      references += base::StrCat(references.empty() ? "" : ",",
                                 R"({"apiVersion":"v1","kind":"Secret","name":")", owner,
                                 R"(","uid":")", owner, "\"}");
    }
    EXPECT_FALSE(Collect(uid, base::StrCat(R"(,"ownerReferences":[)", references, "]")));
  }

  // Makes a ConfigMap and has the collector look at it.
  std::optional<base::Duration> Collect(std::string_view uid, std::string_view rest) {
    const auto made = Create("configmaps", "team", std::string(uid), uid, rest);
    controller_->OnEvent({.type = store::EventType::kAdded, .object = made}, [](std::string) {});
    return controller_->Reconcile(std::string(uid));
  }

  // What the collector asks for of a ConfigMap, it asks for only once all objects of `resource` can be read.
  void ExpectPutOff(const std::string& resource, std::string_view rest, const std::string& asked) {
    reader_.unreadable = resource;
    EXPECT_EQ(Collect("c", rest), kReadAgain);
    EXPECT_TRUE(client_.requests.empty());
    reader_.unreadable.clear();
    EXPECT_FALSE(controller_->Reconcile("c"));
    EXPECT_EQ(client_.requests, std::vector<std::string>{asked});
  }

  std::ptrdiff_t Events() const {
    return std::count(client_.requests.begin(), client_.requests.end(), "create events");
  }

  const std::unique_ptr<store::Store> store_ = store::OpenMemory();
  store::testing::PartlyReadable reader_{*store_};
  Asked client_;
  const release::Release release_ = release::Release::Open("1.36").value();
  const base::Published<api::catalog::Catalog> catalog_{api::catalog::Catalog::BuiltIn({}).value()};
  base::FakeClock clock_;
  kube_cel::Compiler compiler_;
  const ControllerContext context_{reader_, client_, catalog_, clock_, compiler_, "", release_};
  const std::unique_ptr<Controller> controller_ = kGarbageCollector.create(context_);
};

TEST_F(GarbageCollectorTest, ReadsACollectionOnceForAllOwnersThatAreMissing) {
  Create("secrets", "other", "s", "u7");
  std::vector<std::string> owners;
  for (int i = 0; i < 100; ++i) owners.push_back(base::StrCat("u", std::to_string(i)));
  Own("c", owners);
  EXPECT_EQ(reader_.lists, 1);
  // That one is in another namespace.
  EXPECT_EQ(client_.requests, (std::vector<std::string>{"create events", "delete configmaps"}));
}

constexpr std::string_view kOwned =
    R"(,"ownerReferences":[{"apiVersion":"v1","kind":"Secret","name":"s","uid":"s"}])";

TEST_F(GarbageCollectorTest, AnOwnerThatCannotBeReadIsNotGone) {
  ExpectPutOff("secrets", kOwned, "delete configmaps");
}

TEST_F(GarbageCollectorTest, AFormerStateOfAnOwnerDecidesNothing) {
  Create("secrets", "team", "s", "former");
  ExpectPutOff("secrets", kOwned, "delete configmaps");
}

TEST_F(GarbageCollectorTest, AnOwnerIsGoneWhateverElseCannotBeRead) {
  reader_.unreadable = "secrets";
  reader_.unreadable_name = "other";
  EXPECT_FALSE(Collect("c", kOwned));
  EXPECT_EQ(client_.requests, std::vector<std::string>{"delete configmaps"});
}

// Such dependents would lose their owner and be collected once they can be read.
TEST_F(GarbageCollectorTest, DependentsAreNotOrphanedUnread) {
  constexpr std::string_view kEnding =
      R"(,"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["orphan"])";
  ExpectPutOff("pods", kEnding, "patch configmaps");
}

TEST_F(GarbageCollectorTest, AnObjectHasAFewEventsAtMost) {
  std::vector<std::string> owners;
  for (int i = 0; i < 100; ++i) {
    owners.push_back(base::StrCat("u", std::to_string(i)));
    Create("secrets", "other", owners.back(), owners.back());
  }
  Own("c", owners);
  EXPECT_EQ(Events(), 25);
}

TEST_F(GarbageCollectorTest, OwnersThatAreNowhereCostAFewSearches) {
  const auto own = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      Own(base::StrCat("c", std::to_string(i)), {base::StrCat("none", std::to_string(i))});
    }
  };
  own(0, 60);
  EXPECT_EQ(reader_.lists, 25);
  clock_.Advance(std::chrono::seconds(3));
  own(60, 120);
  EXPECT_EQ(reader_.lists, 28);
}

}  // namespace
}  // namespace portcullis::controllers
