// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "json/yaml.h"
#include "policy/pod_security/evaluator.h"
#include "policy/pod_security/existing_pods.h"
#include "policy/pod_security/updates.h"

namespace portcullis::policy::pod_security {
namespace {

json::Value Parse(json::Arena& arena, std::string_view yaml) {
  const auto parsed = json::ParseYaml(arena, yaml);
  EXPECT_TRUE(parsed.ok()) << yaml;
  return parsed.ok() ? *parsed : json::Value();
}

std::string Judge(std::string_view yaml, const LevelVersion& policy) {
  json::Arena arena;
  const json::Value pod = Parse(arena, yaml);
  return Evaluator().Evaluate(policy, {pod["metadata"], pod["spec"]}).Detail();
}

TEST(EvaluatorTest, SaysWhatARestrictedPodMustSet) {
  EXPECT_EQ(
      Judge("spec: {containers: [{name: a}]}", {Level::kRestricted, {}}),
      "allowPrivilegeEscalation != false (container \"a\" must set "
      "securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container \"a\" "
      "must set securityContext.capabilities.drop=[\"ALL\"]), runAsNonRoot != true (pod or "
      "container \"a\" must set securityContext.runAsNonRoot=true), seccompProfile (pod or "
      "container \"a\" must set securityContext.seccompProfile.type to \"RuntimeDefault\" or "
      "\"Localhost\")");
}

TEST(EvaluatorTest, SortsPortsAsTexts) {
  EXPECT_EQ(Judge("spec: {containers: [{name: a}, {name: b, ports: [{hostPort: 30}, {hostPort: "
                  "100}]}, {name: c, ports: [{hostPort: 20}]}]}",
                  {Level::kBaseline, {}}),
            "hostPort (containers \"b\", \"c\" use hostPorts 100, 20, 30)");
}

TEST(LevelTest, BadLabelsFailClosedForEnforceAndOpenForWarn) {
  json::Arena arena;
  const ResolvedPolicy resolved = ResolvePolicy(
      Parse(arena, "{pod-security.kubernetes.io/enforce: x, pod-security.kubernetes.io/warn: y}"),
      {});

  EXPECT_EQ(resolved.policy.enforce.level, Level::kRestricted);
  EXPECT_EQ(resolved.policy.warn.level, Level::kPrivileged);
  EXPECT_EQ(resolved.errors.size(), 2u);
  EXPECT_FALSE(ParseVersion("v1.01").has_value());
  EXPECT_TRUE(ParseVersion("v1.0").has_value());
}

TEST(ExistingPodsTest, GroupsByReasonsAndLooksAtReplicasLast) {
  json::Arena arena;
  const auto pod = [&](std::string_view name, std::string_view more, std::string_view owner) {
    return Parse(arena, "{metadata: {name: " + std::string(name) + std::string(owner) +
                            "}, spec: {" + std::string(more) + "}}");
  };
  constexpr std::string_view kOwner = ", ownerReferences: [{uid: u, controller: true}]";
  const std::vector<json::Value> pods = {
      pod("c", "hostPID: true", kOwner), pod("a", "hostPID: true", kOwner),
      pod("b", "hostPID: true", ""), pod("d", "hostNetwork: true, hostPID: true", "")};

  EXPECT_EQ(WarnAboutExistingPods(Evaluator(), {Level::kBaseline, {}}, "ns", pods, {3, nullptr}),
            (std::vector<std::string>{
                "new PodSecurity enforce level only checked against the first 3 of 4 existing pods",
                "existing pods in namespace \"ns\" violate the new PodSecurity enforce level "
                "\"baseline:latest\"",
                "b (and 2 other pods): host namespaces"}));
}

TEST(UpdatesTest, OnlyNewImagesAndContainersAreSignificant) {
  json::Arena arena;
  const json::Value before = Parse(arena, "containers: [{name: a, image: i}]");

  EXPECT_FALSE(IsSignificantUpdate(
      before, Parse(arena, "{containers: [{name: a, image: i}], tolerations: [{}]}")));
  EXPECT_TRUE(IsSignificantUpdate(before, Parse(arena, "containers: [{name: a, image: j}]")));
  EXPECT_TRUE(IsSignificantUpdate(
      before,
      Parse(arena, "{containers: [{name: a, image: i}], ephemeralContainers: [{name: e}]}")));
}

}  // namespace
}  // namespace portcullis::policy::pod_security
