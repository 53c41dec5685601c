// SPDX-License-Identifier: Apache-2.0

#include "offline/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "offline/testing/limit_policy.h"

namespace portcullis::offline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kHooks[] = R"(apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: sidecar}
webhooks:
- name: again.example.com
  reinvocationPolicy: IfNeeded
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  namespaceSelector: {matchLabels: {env: prod}}
  clientConfig: {url: "https://example.com"}
  rules: [{apiGroups: ["*"], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: ["*"]}]
- name: once.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {url: "https://example.com"}
  rules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]
)";

base::Result<Order> OrderIn(const std::string& files, std::string_view kind) {
  Inputs inputs;
  ReadText("rules.yaml", files, false, inputs);
  return OrderOf(inputs, {}, kind);
}

const OrderStep* Find(const OrderPhase& phase, std::string_view part) {
  const auto found = std::find_if(phase.steps.begin(), phase.steps.end(),
                                  [&](const OrderStep& step) { return step.part == part; });
  return found == phase.steps.end() ? nullptr : &*found;
}

TEST(Order, HasThePluginsOfEachPhaseAndTheRulesOfFiles) {
  const auto order = OrderIn(std::string(kPolicy) + kHooks, "deployments");
  ASSERT_TRUE(order.ok()) << order.status().message();
  EXPECT_EQ(order->resource, "deployments.apps");
  EXPECT_EQ(order->version, "v1");
  ASSERT_EQ(order->phases.size(), 3U);
  const OrderStep* again = Find(order->phases[0], "sidecar/again.example.com");
  ASSERT_NE(again, nullptr);
  EXPECT_THAT(again->operations, ElementsAre("CREATE", "UPDATE"));
  EXPECT_EQ(again->note, "failurePolicy Ignore, 10 s, namespaceSelector env=prod");
  EXPECT_EQ(again->place.ToString(), "rules.yaml:25:3");
  const OrderStep* limit = Find(order->phases[2], "limit/limit");
  ASSERT_NE(limit, nullptr);
  EXPECT_THAT(limit->operations, ElementsAre("CREATE"));
  EXPECT_EQ(Find(order->phases[0], "limit/limit"), nullptr);
}

TEST(Order, SecondRoundHasWhatIsInvokedAgain) {
  const auto order = OrderIn(kHooks, "deploy");
  ASSERT_TRUE(order.ok());
  EXPECT_NE(Find(order->phases[0], "sidecar/once.example.com"), nullptr);
  EXPECT_EQ(order->phases[1].round, 1);
  EXPECT_NE(Find(order->phases[1], "sidecar/again.example.com"), nullptr);
  EXPECT_EQ(Find(order->phases[1], "sidecar/once.example.com"), nullptr);
}

TEST(Order, TakesKindsAsKubectlDoes) {
  for (const std::string_view kind : {"Pod", "po", "pods", "pod"}) {
    const auto order = OrderIn(kHooks, kind);
    ASSERT_TRUE(order.ok()) << kind;
    EXPECT_EQ(order->resource, "pods");
    EXPECT_EQ(Find(order->phases[0], "sidecar/once.example.com"), nullptr);
  }
  const auto connects = OrderIn("", "pods/exec");
  ASSERT_TRUE(connects.ok());
  EXPECT_THAT(OrderAsText(*connects), HasSubstr("CONNECT"));
  EXPECT_THAT(OrderAsText(*OrderIn("", "pods")), Not(HasSubstr("CONNECT")));
  EXPECT_THAT(OrderIn("", "nothing").status().message(),
              HasSubstr("doesn't have a resource type \"nothing\""));
  EXPECT_THAT(OrderIn("", "pods/nothing").status().message(),
              HasSubstr("have no subresource \"nothing\""));
}

TEST(Order, ServesTheDefinitionsOfFiles) {
  const auto order = OrderIn(R"(apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {plural: things, singular: thing, kind: Thing}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
)",
                             "things.example.com");
  ASSERT_TRUE(order.ok()) << order.status().message();
  EXPECT_EQ(order->resource, "things.example.com");
}

TEST(Order, IsPrintedAsTextAndJson) {
  const auto order = OrderIn(kHooks, "deployments");
  ASSERT_TRUE(order.ok());
  const std::string text = OrderAsText(*order);
  EXPECT_THAT(text, HasSubstr("deployments.apps, v1\n\nmutating, round 0\n"));
  EXPECT_THAT(text, HasSubstr("\n  MutatingAdmissionWebhook"));
  EXPECT_THAT(text, HasSubstr("\n    sidecar/again.example.com"));
  EXPECT_THAT(OrderAsJson(*order), HasSubstr("\"part\": \"sidecar/again.example.com\""));
}

}  // namespace
}  // namespace portcullis::offline
