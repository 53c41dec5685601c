// SPDX-License-Identifier: Apache-2.0

#include "webhook_server/backend.h"

#include <gtest/gtest.h>

#include "base/log.h"
#include "base/strings.h"
#include "net/io_threads.h"

namespace portcullis::webhook_server {
namespace {

constexpr int kMostNamespaces = 20000;

// Without a cluster: a namespace that a request names is made.
class BackendTest : public ::testing::Test {
 protected:
  void SetUp() override { base::ConfigureLog(base::LogFormat::kText, base::LogLevel::kError); }

  void Ask(const std::string& ns) {
    admission::Attributes request;
    request.resource = {"", "v1", "configmaps"};
    request.namespace_name = ns;
    backend_->Prepare(request);
  }
  bool Has(const std::string& ns) {
    return backend_->world().store->Get({"", "namespaces", "", ns}) != nullptr;
  }

  net::IoThreads io_{1};
  std::unique_ptr<net::HttpsClient> https_ = net::HttpsClient::Create(io_);
  metrics::Registry metrics_;
  std::unique_ptr<Backend> backend_ =
      Backend::Create({.enable_admission_plugins = {"AlwaysPullImages"}}, base::SystemClock(),
                      *https_, metrics_)
          .value();
};

TEST_F(BackendTest, NamesThatNoNamespaceHasTakeNoRoom) {
  for (int i = 0; i <= kMostNamespaces; ++i) Ask(base::StrCat("No_", std::to_string(i)));
  EXPECT_FALSE(Has("No_1"));
  Ask("team");
  EXPECT_TRUE(Has("team"));
}

TEST_F(BackendTest, TheOldestNamespaceMakesRoomForANewOne) {
  for (int i = 0; i <= kMostNamespaces; ++i) Ask(base::StrCat("team-", std::to_string(i)));
  EXPECT_FALSE(Has("team-0"));
  EXPECT_TRUE(Has("team-1"));
  EXPECT_TRUE(Has(base::StrCat("team-", std::to_string(kMostNamespaces))));
}

}  // namespace
}  // namespace portcullis::webhook_server
