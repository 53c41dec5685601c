// SPDX-License-Identifier: Apache-2.0

#include "controllers/runner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "controllers/namespace.h"
#include "kube_cel/compiler.h"
#include "release/release.h"
#include "store/memory/memory_store.h"
#include "store/testing/objects.h"

namespace portcullis::controllers {
namespace {

constexpr store::Collection kHears[] = {{"", "configmaps"}};
constexpr std::chrono::seconds kPatience{20};

std::promise<void>* reached = nullptr;  // the last key has been reconciled

// Keys are names. "a" comes back again and again, by a write of its own; "late" once, a moment later.
class Restless final : public Controller {
 public:
  explicit Restless(const ControllerContext& context) : context_(context) {}

  void OnEvent(const store::Event& event, const Enqueue& enqueue) override {
    enqueue(std::string(event.object->name()));
  }

  std::optional<base::Duration> Reconcile(const std::string& key) override {
    if (key == "late" && ++seen_ == 1) return std::chrono::milliseconds(1);
    if (key != "a") {
      if (reached != nullptr) reached->set_value();
      reached = nullptr;
      return std::nullopt;
    }
    static_cast<void>(context_.client.Do({.ns = "n", .name = key}));
    return std::nullopt;
  }

 private:
  const ControllerContext& context_;
  int seen_ = 0;
};

// Writes the ConfigMap that is named, whatever is asked for.
class WritingClient final : public Client {
 public:
  explicit WritingClient(store::Store& store) : store_(store) {}
  base::Result<store::ObjectPtr> Do(const Request& request) override {
    return store_.Update(store::testing::ConfigMap(request.ns, request.name),
                         store::testing::Encode(request.ns, request.name), {});
  }

 private:
  store::Store& store_;
};

// Is never done.
class SlowServers final : public AggregatedServers {
 public:
  base::Status Check(const std::string&) override { return base::OkStatus(); }
  base::Status Discover(const std::string&) override { return base::OkStatus(); }
  void EmptyNamespace(const std::string&, const Identity&, const std::atomic<bool>& is_stopping,
                      NamespaceLeftovers&) override {
    asked.set_value();
    const base::SteadyTime end = base::SystemClock().Steady() + kPatience;
    while (!is_stopping && base::SystemClock().Steady() < end) std::this_thread::yield();
    is_told = is_stopping;
  }

  std::promise<void> asked;
  bool is_told = false;
};

class RunnerTest : public ::testing::Test {
 protected:
  // Whether `key` is reconciled to its end beside "a".
  bool Reaches(const std::string& key) {
    for (const std::string& name : {std::string("a"), key}) {
      EXPECT_TRUE(
          store_->Create(store::testing::ConfigMap("n", name), store::testing::Encode("n", name))
              .ok());
    }
    std::promise<void> promise;
    auto future = promise.get_future();
    reached = &promise;
    const ControllerInfo info{
        .name = "restless",
        .create = [](const ControllerContext& context) -> std::unique_ptr<Controller> {
          return std::make_unique<Restless>(context);
        },
        .hears = kHears};
    ControllerRunner runner(info, context_, *store_);
    runner.Start();
    const bool is_reached = future.wait_for(kPatience) == std::future_status::ready;
    runner.Stop();
    reached = nullptr;
    return is_reached;
  }

  const std::unique_ptr<store::Store> store_ = store::OpenMemory();
  WritingClient client_{*store_};
  const release::Release release_ = release::Release::Open("1.36").value();
  const base::Published<api::catalog::Catalog> catalog_{api::catalog::Catalog::BuiltIn({}).value()};
  kube_cel::Compiler compiler_;
  const ControllerContext context_{*store_,   client_, catalog_, base::SystemClock(),
                                   compiler_, "",      release_};
};

TEST_F(RunnerTest, AKeyThatWritesItselfKeepsNoOtherOneWaiting) { EXPECT_TRUE(Reaches("b")); }

TEST_F(RunnerTest, AKeyThatHasToWaitGetsItsTurn) { EXPECT_TRUE(Reaches("late")); }

TEST_F(RunnerTest, AStopEndsWhatIsAskedOfAggregatedServers) {
  SlowServers servers;
  ControllerContext context{*store_,   client_, catalog_, base::SystemClock(),
                            compiler_, "",      release_};
  context.aggregated = &servers;
  ASSERT_TRUE(store_
                  ->Create({"", "namespaces", "", "n"}, store::testing::EncodeText(R"({
    "metadata": {"name": "n", "resourceVersion":"", "deletionTimestamp": "2026-11-29T00:00:00Z"},
    "spec": {"finalizers": ["kubernetes"]}})"))
                  .ok());
  ControllerRunner runner(kNamespace, context, *store_);
  runner.Start();
  servers.asked.get_future().wait();
  runner.Stop();
  EXPECT_TRUE(servers.is_told);
}

}  // namespace
}  // namespace portcullis::controllers
