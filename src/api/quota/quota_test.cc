// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "api/quota/evaluator.h"
#include "api/quota/pod_resources.h"
#include "api/testing/slow_pod_resources.h"
#include "base/strings.h"
#include "base/testing/fake_clock.h"
#include "json/yaml.h"

namespace portcullis::api::quota {
namespace {

json::Value Parse(json::Arena& arena, std::string_view yaml) {
  const auto parsed = json::ParseYaml(arena, yaml);
  EXPECT_TRUE(parsed.ok()) << yaml;
  return parsed.ok() ? *parsed : json::Value();
}

TEST(PodResourcesTest, InitContainersRunBesideTheSidecarsBeforeThem) {
  json::Arena arena;
  const json::Value pod = Parse(arena, R"(
spec:
  initContainers:
  - {name: s, restartPolicy: Always, resources: {requests: {cpu: '1'}}}
  - {name: i, resources: {requests: {cpu: '3'}}}
  containers:
  - {name: a, resources: {requests: {cpu: '2'}}}
)");

  EXPECT_EQ(ResourcesText(PodRequests(pod, {})), "cpu=4");
}

std::string RandomContainers(std::mt19937& random) {
  std::string out = "[";
  for (auto n = random() % 5; n > 0; --n) {
    out += base::StrCat(
        out.size() > 1 ? "," : "", "{", random() % 2 == 0 ? "restartPolicy: Always, " : "",
        "resources: {requests: {", std::string(1, static_cast<char>('a' + random() % 3)), ": '",
        std::to_string(random() % 5), "', z: '", std::to_string(random() % 5), "'}}}");
  }
  return out + "]";
}

TEST(PodResourcesTest, SidecarsAndStepsAreSummedAsTheSlowWayDoes) {
  std::mt19937 random(19);
  for (int round = 0; round < 2000; ++round) {
    json::Arena arena;
    const std::string text = base::StrCat("{spec: {initContainers: ", RandomContainers(random),
                                          ", containers: ", RandomContainers(random), "}}");
    const json::Value pod = Parse(arena, text);
    ASSERT_EQ(ResourcesText(PodRequests(pod, {})), ResourcesText(testing::SlowPodRequests(pod)))
        << text;
  }
}

TEST(PodResourcesTest, PodLevelAmountsTakeTheContainersPlace) {
  json::Arena arena;
  const json::Value pod = Parse(arena, R"(
spec:
  overhead: {cpu: 100m}
  resources: {requests: {cpu: 500m}}
  containers:
  - {name: a, resources: {requests: {cpu: '2', memory: 1Gi}}}
)");

  EXPECT_EQ(ResourcesText(PodRequests(pod, {})), "cpu=600m,memory=1Gi");
  EXPECT_EQ(ResourcesText(PodRequests(pod, {.pod_level = false, .overhead = false})),
            "cpu=2,memory=1Gi");
}

TEST(PodResourcesTest, QosNeedsEqualRequestsAndLimitsForGuaranteed) {
  json::Arena arena;

  EXPECT_EQ(QosOf(Parse(arena, "spec: {containers: [{name: a}]}")), QosClass::kBestEffort);
  EXPECT_EQ(QosOf(Parse(arena, R"(
spec: {containers: [{name: a, resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1000m, memory: 1Gi}}}]}
)")),
            QosClass::kGuaranteed);
  EXPECT_EQ(QosOf(Parse(arena, "spec: {containers: [{name: a, resources: {requests: {cpu: 1}}}]}")),
            QosClass::kBurstable);
}

TEST(EvaluatorTest, PodsAreChargedUntilTheirDeletionShouldBeOver) {
  json::Arena arena;
  base::FakeClock clock;
  const auto pods = MakeEvaluator({"", "pods"}, {.clock = &clock});
  const std::string deleted = base::FormatTime(clock.Now() + std::chrono::seconds(10));
  const json::Value pod = Parse(arena, R"(
metadata: {deletionTimestamp: ')" + deleted +
                                           R"(', deletionGracePeriodSeconds: 30}
spec: {containers: [{name: a}]}
)");
  const json::Value alive = Parse(arena, "spec: {containers: [{name: a}]}");

  EXPECT_EQ(ResourcesText(pods->Usage(pod)), "count/pods=1,pods=1");
  ASSERT_TRUE(pods->UsageEndsAt(pod).has_value());
  EXPECT_EQ(base::FormatTime(*pods->UsageEndsAt(pod)),
            base::FormatTime(clock.Now() + std::chrono::seconds(40)));
  EXPECT_FALSE(pods->UsageEndsAt(alive).has_value());

  clock.Advance(std::chrono::seconds(42));
  EXPECT_EQ(ResourcesText(pods->Usage(pod)), "count/pods=1");
  EXPECT_FALSE(pods->UsageEndsAt(pod).has_value());
  EXPECT_EQ(ResourcesText(pods->Usage(alive)), "count/pods=1,pods=1");
}

TEST(EvaluatorTest, LoadBalancersTakeNodePortsUnlessToldNotTo) {
  json::Arena arena;
  const auto services = MakeEvaluator({"", "services"}, {});
  const json::Value service = Parse(arena, R"(
spec:
  type: LoadBalancer
  allocateLoadBalancerNodePorts: false
  ports: [{port: 1, nodePort: 30001}, {port: 2}]
)");

  EXPECT_EQ(ResourcesText(services->Usage(service)),
            "count/services=1,services=1,services.loadbalancers=1,services.nodeports=1");
}

TEST(EvaluatorTest, ClaimsAreChargedInWholeBytes) {
  json::Arena arena;
  const auto claims = MakeEvaluator({"", "persistentvolumeclaims"}, {});
  Resources usage = claims->Usage(
      Parse(arena, "spec: {storageClassName: gold, resources: {requests: {storage: 1001m}}}"));

  EXPECT_EQ(usage["requests.storage"].ToString(), "2");
  EXPECT_EQ(usage["gold.storageclass.storage.k8s.io/requests.storage"].ToString(), "2");
}

TEST(EvaluatorTest, DevicesOfAlternativesAreTheMostOfOneClass) {
  json::Arena arena;
  const auto claims = MakeEvaluator({"resource.k8s.io", "resourceclaims"}, {});
  Resources usage = claims->Usage(Parse(arena, R"(
spec:
  devices:
    requests:
    - name: r
      firstAvailable:
      - {name: a, deviceClassName: gpu, allocationMode: ExactCount, count: 2}
      - {name: b, deviceClassName: gpu, allocationMode: ExactCount, count: 1}
    - {name: s, exactly: {deviceClassName: nic, allocationMode: All}}
)"));

  EXPECT_EQ(usage["gpu.deviceclass.resource.k8s.io/devices"].ToString(), "2");
  EXPECT_EQ(usage["nic.deviceclass.resource.k8s.io/devices"].ToString(), "32");
}

TEST(EvaluatorTest, UnknownResourcesAreCounted) {
  const auto widgets = MakeEvaluator({"example.com", "widgets"}, {});

  EXPECT_TRUE(widgets->MatchesName("count/widgets.example.com"));
  EXPECT_FALSE(widgets->MatchesName("pods"));
  EXPECT_EQ(ResourcesText(widgets->Usage({})), "count/widgets.example.com=1");
}

TEST(ScopeTest, NamesAreJudgedByTheOperator) {
  EXPECT_TRUE(*MatchesNames({"PriorityClass", "NotIn", {"a"}}, {}));
  EXPECT_FALSE(*MatchesNames({"PriorityClass", "In", {"a"}}, {}));
  EXPECT_TRUE(*MatchesNames({"PriorityClass", "In", {"a"}}, {"a"}));
  EXPECT_EQ(MatchesNames({"PriorityClass", "Foo", {}}, {}).status().message(),
            "\"Foo\" is not a valid scope selector operator");
  EXPECT_EQ(ScopeSelectorText({"PriorityClass", "In", {"a", "b"}}), "{PriorityClass In [a b]}");
}

}  // namespace
}  // namespace portcullis::api::quota
