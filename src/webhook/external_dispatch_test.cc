// SPDX-License-Identifier: Apache-2.0

// External admission hooks (docs/legacy.md) whose answers come at set times of a fake clock.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "admission/catalog_objects.h"
#include "admission/store_feed.h"
#include "api/catalog/catalog.h"
#include "base/strings.h"
#include "base/testing/fake_clock.h"
#include "json/reader.h"
#include "net/client.h"
#include "store/memory/memory_store.h"
#include "webhook/service_resolver.h"
#include "webhook/validating_dispatcher.h"
#include "webhook/webhook_plugin.h"

namespace portcullis::webhook {
namespace {

using namespace std::chrono_literals;

// What the hook behind an address answers, and when; without a body it hangs.
struct Reply {
  std::chrono::milliseconds after{0};
  std::string body;
};
using Replies = std::map<std::string, Reply, std::less<>>;

// The calls of one thread: the clock moves on to the next answer, or to the deadline of a call.
class TimedCalls final : public net::CallSet {
 public:
  TimedCalls(base::FakeClock& clock, const Replies& replies) : clock_(clock), replies_(replies) {}

  void Start(std::size_t id, net::SharedRequest request, base::SteadyTime deadline,
             net::RequestBody) override {
    for (const auto& [service, reply] : replies_) {
      if (request->url.find(service) == std::string::npos) continue;
      const bool hangs = reply.body.empty();
      under_way_.push_back(
          {id, hangs ? deadline : clock_.Steady() + base::Duration(reply.after), reply.body});
    }
  }
  std::optional<Arrival> Next(std::optional<base::SteadyTime>) override {
    const auto next =
        std::min_element(under_way_.begin(), under_way_.end(),
                         [](const Call& a, const Call& b) { return a.ends < b.ends; });
    if (next == under_way_.end()) return std::nullopt;
    const Call call = *next;
    under_way_.erase(next);
    clock_.Advance(call.ends - clock_.Steady());
    net::CallResult result;
    if (call.body.empty()) {
      net::CallFailure& failure = result.failure.emplace();
      failure.phase = net::CallPhase::kFirstByte;
      failure.cause = failure.message = "context deadline exceeded";
      failure.timed_out = true;
    }
    result.response.status = 200;
    result.response.headers.Set("Content-Type", "application/json");
    result.response.body = call.body;
    return Arrival{call.id, std::move(result)};
  }

 private:
  struct Call {
    std::size_t id;
    base::SteadyTime ends;
    std::string body;
  };
  base::FakeClock& clock_;
  const Replies& replies_;
  std::vector<Call> under_way_;
};

class TimedClient final : public net::HttpsClient {
 public:
  TimedClient(base::FakeClock& clock, const Replies& replies) : clock_(clock), replies_(replies) {}
  net::CallResult Call(net::SharedRequest, base::SteadyTime) override { return {}; }
  std::unique_ptr<net::CallSet> NewSet() override {
    return std::make_unique<TimedCalls>(clock_, replies_);
  }
  std::shared_ptr<net::PendingCall> Begin(net::ClientRequest, base::SteadyTime, Done) override {
    return nullptr;
  }
  void CloseIdle() override {}
  void Stop() override {}
  net::ClientCounters counters() const override { return {}; }

 private:
  base::FakeClock& clock_;
  const Replies& replies_;
};

std::string Denial(std::string_view message) {
  return base::StrCat(R"({"status":{"allowed":false,"status":{"code":403,"message":")", message,
                      R"("}}})");
}

class ExternalDispatch : public ::testing::Test {
 protected:
  // A hook named after its service; all of them stand in one configuration.
  static std::string HookOf(std::string_view service) {
    return base::StrCat(
        R"({"name":")", service,
        R"(.guard.test","failurePolicy":"Ignore","clientConfig":{"caBundle":"","service":{"namespace":)"
        R"("team","name":")",
        service,
        R"("}},"rules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],)"
        R"("resources":["*"]}]})");
  }

  base::Status Review(const std::vector<std::string>& services) {
    std::vector<std::string> hooks;
    for (const std::string& service : services) hooks.push_back(HookOf(service));
    store::Encoded object;
    object.bytes =
        base::StrCat(R"({"metadata":{"name":"h","resourceVersion":""},"externalAdmissionHooks":[)",
                     base::Join(hooks, ","), "]}");
    object.revision_at = object.bytes.find(R"("resourceVersion":")") + 19;
    EXPECT_TRUE(store_
                    ->Create({"admissionregistration.k8s.io", "externaladmissionhookconfigurations",
                              "", "h"},
                             object)
                    .ok());
    admission::PluginContext context;
    context.clock = &clock_;
    context.reader = store_.get();
    context.feed = feed_.get();
    context.https = &client_;
    context.services = resolver_.get();
    context.objects = &objects_;
    const auto plugin = WebhookPluginCore::CreateExternal(context);
    admission::Attributes attributes;
    attributes.resource = {"", "v1", "configmaps"};
    attributes.kind = {"", "v1", "ConfigMap"};
    attributes.namespace_name = "default";
    attributes.user.name = "alice";
    attributes.object =
        *json::Parse(arena_, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}})");
    const admission::Request request(std::move(attributes), arena_, recorder_);
    return DispatchValidating(plugin->services(), *plugin->HooksFor(request), request);
  }

  base::FakeClock clock_;
  const base::SteadyTime start_ = clock_.Steady();
  Replies replies_;
  json::Arena arena_;
  admission::Recorder recorder_;
  std::unique_ptr<store::Store> store_ = store::OpenMemory();
  std::unique_ptr<admission::ObjectFeed> feed_ = admission::MakeStoreFeed(*store_);
  std::unique_ptr<admission::ServiceResolver> resolver_ = MakeServiceResolver(
      *store_, {.table = {{"team/slow:443", "127.0.0.1:1"}, {"team/quick:443", "127.0.0.1:2"}}});
  std::shared_ptr<const api::catalog::Catalog> catalog_ =
      api::catalog::Catalog::BuiltIn(
          api::catalog::ParseRuntimeConfig(
              "admissionregistration.k8s.io/v1alpha1/externaladmissionhookconfigurations")
              .value())
          .value();
  admission::CatalogObjects objects_{[this] { return catalog_; }, nullptr};
  TimedClient client_{clock_, replies_};
};

// W-3: the denial that comes first is the client's, wherever its hook stands; all are waited for.
TEST_F(ExternalDispatch, TheFirstDenialIsReturnedAfterAllHaveAnswered) {
  replies_["slow"] = {50ms, Denial("slow")};
  replies_["quick"] = {10ms, Denial("quick")};
  const base::Status refused = Review({"slow", "quick"});
  EXPECT_EQ(refused.message(), "quick");
  EXPECT_EQ(refused.http_code(), 403);
  EXPECT_EQ(clock_.Steady() - start_, base::Duration(50ms));
}

// W-4: a hook that hangs is given its 30 seconds, and the denial stands.
TEST_F(ExternalDispatch, ADenialWaitsForAHookThatHangs) {
  replies_["slow"] = {};
  replies_["quick"] = {10ms, Denial("quick")};
  const base::Status refused = Review({"slow", "quick"});
  EXPECT_EQ(refused.message(), "quick");
  EXPECT_EQ(clock_.Steady() - start_, base::Duration(30s));
}

// W-30: a hook that hangs is passed over unless its policy is Fail.
TEST_F(ExternalDispatch, AHookThatHangsIsPassedOver) {
  replies_["slow"] = {};
  EXPECT_TRUE(Review({"slow"}).ok());
  EXPECT_EQ(clock_.Steady() - start_, base::Duration(30s));
}

}  // namespace
}  // namespace portcullis::webhook
