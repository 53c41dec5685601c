// SPDX-License-Identifier: Apache-2.0

// A quota holds when many clients create at once, and what failed or is gone is given back.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/strings.h"
#include "harness/test_server.h"

namespace portcullis::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kQuotas = "/api/v1/namespaces/default/resourcequotas";
constexpr std::string_view kMaps = "/api/v1/namespaces/default/configmaps";

std::string ConfigMap(int number) {
  return base::StrCat(R"({"metadata":{"name":"m)", std::to_string(number), R"("}})");
}

class ResourceQuotaTest : public ::testing::Test {
 protected:
  // Until the quota's status says so; false if it never does.
  bool WaitForUsed(std::string_view name, std::string_view amount) {
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (std::chrono::steady_clock::now() < deadline) {
      const Answer quota = server_.Get(base::StrCat(kQuotas, "/q"));
      if (quota.document.root().At({"status", "used", name}).AsString() == amount) return true;
      std::this_thread::yield();
    }
    return false;
  }

  void MakeQuota(std::string_view hard) {
    const Answer made = server_.Post(
        kQuotas, base::StrCat(R"({"metadata":{"name":"q"},"spec":{"hard":)", hard, "}}"));
    ASSERT_EQ(made.status, 201) << made.body;
  }

  // kube-root-ca.crt is a config map too: it must be there before anything is counted. Pods need
  // the service account.
  void WaitForFurnishing() {
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    for (std::string_view path : {"configmaps/kube-root-ca.crt", "serviceaccounts/default"}) {
      while (server_.Get(base::StrCat("/api/v1/namespaces/default/", path)).status != 200 &&
             std::chrono::steady_clock::now() < deadline) {
        std::this_thread::yield();
      }
    }
  }

  // With the controllers, which the harness leaves out by default.
  TestServer server_{[](server::Options& options) { options.controllers = {"*"}; }};
};

TEST_F(ResourceQuotaTest, ManyClientsNeverExceedIt) {
  WaitForFurnishing();
  MakeQuota(R"({"configmaps":"11"})");
  ASSERT_TRUE(WaitForUsed("configmaps", "1"));

  std::atomic<int> created{0};
  std::atomic<int> refused{0};
  std::vector<std::thread> clients;
  for (int client = 0; client < 8; ++client) {
    clients.emplace_back([&, client] {
      for (int i = 0; i < 10; ++i) {
        const Answer made = server_.Post(kMaps, ConfigMap(client * 100 + i));
        if (made.status == 201) ++created;
        if (made.status == 403) ++refused;
      }
    });
  }
  for (std::thread& client : clients) client.join();

  EXPECT_EQ(created, 10);
  EXPECT_EQ(refused, 70);
  EXPECT_EQ(server_.Get(kMaps)["items"].size(), 11u);
}

TEST_F(ResourceQuotaTest, GivesBackWhatFailedAndWhatIsGone) {
  WaitForFurnishing();
  MakeQuota(R"({"configmaps":"3"})");
  ASSERT_TRUE(WaitForUsed("configmaps", "1"));
  ASSERT_EQ(server_.Post(kMaps, ConfigMap(1)).status, 201);

  // It exists: charged, and then not written.
  EXPECT_EQ(server_.Post(kMaps, ConfigMap(1)).status, 409);
  EXPECT_TRUE(WaitForUsed("configmaps", "2"));

  ASSERT_EQ(server_.Post(kMaps, ConfigMap(2)).status, 201);
  EXPECT_EQ(server_.Post(kMaps, ConfigMap(3)).status, 403);
  ASSERT_EQ(server_.Delete(base::StrCat(kMaps, "/m1")).status, 200);
  EXPECT_TRUE(WaitForUsed("configmaps", "2"));
  EXPECT_EQ(server_.Post(kMaps, ConfigMap(3)).status, 201);
}

TEST_F(ResourceQuotaTest, PodsWhoseDeletionShouldBeOverAreNotCharged) {
  WaitForFurnishing();
  MakeQuota(R"({"pods":"1","count/pods":"5"})");
  ASSERT_TRUE(WaitForUsed("pods", "0"));
  const auto pod = [](std::string_view name) {
    return base::StrCat(
        R"({"metadata":{"name":")", name,
        R"("},"spec":{"nodeName":"lost","containers":[{"name":"c","image":"i"}]}})");
  };
  constexpr std::string_view kPods = "/api/v1/namespaces/default/pods";
  ASSERT_EQ(server_.Post(kPods, pod("a")).status, 201);
  ASSERT_EQ(server_.Post(kPods, pod("b")).status, 403);

  // The node is lost: no kubelet ends the pod.
  ASSERT_EQ(server_.Delete(base::StrCat(kPods, "/a?gracePeriodSeconds=1")).status, 200);
  ASSERT_EQ(server_.Get(base::StrCat(kPods, "/a")).status, 200);

  EXPECT_TRUE(WaitForUsed("pods", "0"));
  EXPECT_EQ(server_.Post(kPods, pod("b")).status, 201);
  EXPECT_TRUE(WaitForUsed("count/pods", "2"));
}

TEST_F(ResourceQuotaTest, ManyClientsNeverExceedAmounts) {
  WaitForFurnishing();
  MakeQuota(R"({"requests.cpu":"1","limits.memory":"10Gi"})");
  ASSERT_TRUE(WaitForUsed("requests.cpu", "0"));

  std::atomic<int> created{0};
  std::vector<std::thread> clients;
  for (int client = 0; client < 8; ++client) {
    clients.emplace_back([&, client] {
      for (int i = 0; i < 4; ++i) {
        const std::string pod =
            base::StrCat(R"({"metadata":{"name":"p)", std::to_string(client * 10 + i),
                         R"("},"spec":{"containers":[{"name":"c","image":"i","resources":{)",
                         R"("requests":{"cpu":"150m"},"limits":{"memory":"1Gi"}}}]}})");
        if (server_.Post("/api/v1/namespaces/default/pods", pod).status == 201) ++created;
      }
    });
  }
  for (std::thread& client : clients) client.join();

  EXPECT_EQ(created, 6);  // 900m; a seventh would be 1050m
  EXPECT_TRUE(WaitForUsed("requests.cpu", "900m"));
  EXPECT_TRUE(WaitForUsed("limits.memory", "6Gi"));
}

TEST_F(ResourceQuotaTest, ADryRunChargesNothing) {
  WaitForFurnishing();
  MakeQuota(R"({"configmaps":"2"})");
  ASSERT_TRUE(WaitForUsed("configmaps", "1"));

  EXPECT_EQ(server_.Post(base::StrCat(kMaps, "?dryRun=All"), ConfigMap(1)).status, 201);
  EXPECT_EQ(server_.Post(kMaps, ConfigMap(1)).status, 201);
  EXPECT_EQ(server_.Post(base::StrCat(kMaps, "?dryRun=All"), ConfigMap(2)).status, 403);
}

}  // namespace
}  // namespace portcullis::testing
