// SPDX-License-Identifier: Apache-2.0

// Webhook configurations come and go, and the server ends, while webhooks are being called: what a
// call uses lives as long as the call. Worth most under a sanitizer.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/strings.h"
#include "harness/admission_review.h"
#include "harness/test_server.h"
#include "json/reader.h"
#include "net/testing/test_server.h"

namespace portcullis {
namespace {

using testing::Answer;
using testing::TestServer;

constexpr std::string_view kConfigMaps = "/api/v1/namespaces/default/configmaps";
constexpr std::string_view kConfigurations = "/apis/admissionregistration.k8s.io/v1/";

class WebhookChangesTest : public ::testing::Test {
 protected:
  std::string Collection(bool mutating) const {
    return base::StrCat(kConfigurations, mutating ? "mutating" : "validating",
                        "webhookconfigurations");
  }
  std::string Configuration() const {
    return base::StrCat(R"({"metadata":{"name":"c"},"webhooks":[{"name":"c.example.com",
        "clientConfig":{"url":")",
                        hook_.Url("/"), R"(","caBundle":")",
                        base::Base64Encode(hook_.certificates.authority.certificate_pem),
                        R"("},"rules":[{"operations":["CREATE"],"apiGroups":[""],
        "apiVersions":["v1"],"resources":["configmaps"]}],"sideEffects":"None",
        "failurePolicy":"Ignore","admissionReviewVersions":["v1"]}]})");
  }
  Answer Create(int writer, int number) {
    return server_->Post(kConfigMaps,
                         base::StrCat(R"({"metadata":{"name":"w)", std::to_string(writer), "-",
                                      std::to_string(number), R"("}})"));
  }
  // Replaces both configurations until `done`.
  void ChangeUntil(const std::atomic<int>& done, int wanted) {
    for (int i = 0; done.load() < wanted; ++i) {
      const bool mutating = i % 2 == 0;
      server_->Delete(base::StrCat(Collection(mutating), "/c"));
      EXPECT_EQ(server_->Post(Collection(mutating), Configuration()).status, 201);
    }
  }

  std::atomic<int> asked_{0};
  net::testing::TestServer hook_{[this](const std::shared_ptr<net::Exchange>& exchange) {
    ++asked_;
    const json::Document review = json::ParseDocument(exchange->request().body).value();
    exchange->Respond(testing::Allow(review.root()));
  }};
  std::unique_ptr<TestServer> server_ = std::make_unique<TestServer>();
};

TEST_F(WebhookChangesTest, CallsOutliveTheirConfiguration) {
  constexpr int kWriters = 4;
  constexpr int kEach = 100;
  for (const bool mutating : {true, false}) {
    ASSERT_EQ(server_->Post(Collection(mutating), Configuration()).status, 201);
  }
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&, writer] {
      for (int i = 0; i < kEach; ++i) EXPECT_EQ(Create(writer, i).status, 201);
      ++done;
    });
  }
  threads.emplace_back([&] { ChangeUntil(done, kWriters); });
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(server_->Get(kConfigMaps)["items"].size(), std::size_t{kWriters * kEach});
  EXPECT_GT(asked_.load(), kWriters);
}

// Clients with an answer have been served; the others see the connection end.
TEST_F(WebhookChangesTest, TheServerEndsAmidCalls) {
  for (int round = 0; round < 5; ++round) {
    for (const bool mutating : {true, false}) {
      ASSERT_EQ(server_->Post(Collection(mutating), Configuration()).status, 201);
    }
    const int before = asked_.load();
    std::vector<std::thread> threads;
    for (int writer = 0; writer < 4; ++writer) {
      threads.emplace_back([this, writer] {
        for (int i = 0; Create(writer, i).status == 201; ++i) {
        }
      });
    }
    while (asked_.load() < before + 20) std::this_thread::yield();
    server_->Stop();
    for (std::thread& thread : threads) thread.join();
    server_->Restart();
  }
}

}  // namespace
}  // namespace portcullis
