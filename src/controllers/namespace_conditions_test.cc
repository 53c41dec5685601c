// SPDX-License-Identifier: Apache-2.0

#include "controllers/namespace_conditions.h"

#include <gtest/gtest.h>

#include "base/gotext.h"
#include "json/writer.h"

namespace portcullis::controllers {
namespace {

std::string Shown(json::Value conditions) {
  std::string text;
  for (const json::Value& condition : conditions.elements()) {
    text += std::string(condition["type"].AsString()) + "=" +
            std::string(condition["status"].AsString()) + " " +
            std::string(condition["reason"].AsString()) + ": " +
            std::string(condition["message"].AsString()) + " (" +
            std::string(condition["lastTransitionTime"].AsString()) + ")\n";
  }
  return text;
}

TEST(NamespaceConditions, TellWhatIsLeftAndWhatKeepsIt) {
  json::Arena arena;
  NamespaceLeftovers left;
  left.resources = {{"deployments.apps", 2}, {"configmaps.", 1}};
  left.finalizers = {{"example.com/f", 3}};
  left.errors = {"no", "never", "no"};

  EXPECT_EQ(
      Shown(NamespaceConditions(arena, {}, left, "t1")),
      "NamespaceDeletionDiscoveryFailure=False ResourcesDiscovered: All resources successfully "
      "discovered (t1)\n"
      "NamespaceDeletionGroupVersionParsingFailure=False ParsedGroupVersions: All legacy kube "
      "types successfully parsed (t1)\n"
      "NamespaceDeletionContentFailure=True ContentDeletionFailed: Failed to delete all resource "
      "types, 3 remaining: never, no, no (t1)\n"
      "NamespaceContentRemaining=True SomeResourcesRemain: Some resources are remaining: "
      "configmaps. has 1 resource instances, deployments.apps has 2 resource instances (t1)\n"
      "NamespaceFinalizersRemaining=True SomeFinalizersRemain: Some content in the namespace has "
      "finalizers remaining: example.com/f in 3 resource instances (t1)\n");
}

TEST(NamespaceConditions, TellWhichAggregatedVersionsAreNotKnown) {
  json::Arena arena;
  NamespaceLeftovers left;
  left.undiscovered = {"metrics.k8s.io/v1beta1", "garden.io/v1"};
  const json::Value told = NamespaceConditions(arena, {}, left, "t1")[std::size_t{0}];
  EXPECT_EQ(told["status"].AsString(), "True");
  EXPECT_EQ(told["reason"].AsString(), "DiscoveryFailed");
  EXPECT_EQ(told["message"].AsString(),
            "Discovery failed for some groups, 2 failing: unable to retrieve the complete list of "
            "server APIs: garden.io/v1: stale GroupVersion discovery: garden.io/v1, "
            "metrics.k8s.io/v1beta1: stale GroupVersion discovery: metrics.k8s.io/v1beta1");
}

TEST(NamespaceConditions, AreOfABoundedLength) {
  json::Arena arena;
  NamespaceLeftovers left;
  for (int i = 0; i < 100'000; ++i) left.errors.emplace_back("é");
  const json::Value conditions = NamespaceConditions(arena, {}, left, "t1");
  const std::string_view message = conditions[std::size_t{2}]["message"].AsString();
  EXPECT_LE(message.size(), 32U << 10);
  EXPECT_GT(message.size(), 30U << 10);
  EXPECT_TRUE(base::IsValidUtf8(message));
}

TEST(NamespaceConditions, AreWrittenOnlyIfTheyTellSomethingNew) {
  json::Arena arena;
  NamespaceLeftovers left;
  left.resources = {{"pods.", 2}};
  const json::Value first = NamespaceConditions(arena, {}, left, "t1");
  EXPECT_TRUE(NamespaceConditions(arena, first, left, "t2").is_null());

  left.resources = {{"pods.", 1}};
  const json::Value second = NamespaceConditions(arena, first, left, "t2");
  EXPECT_EQ(second[std::size_t{3}]["lastTransitionTime"].AsString(), "t1");
  const json::Value third = NamespaceConditions(arena, second, {}, "t3");
  EXPECT_EQ(third[std::size_t{3}]["status"].AsString(), "False");
  EXPECT_EQ(third[std::size_t{3}]["message"].AsString(), "All content successfully removed");
  EXPECT_EQ(third[std::size_t{3}]["lastTransitionTime"].AsString(), "t3");
}

}  // namespace
}  // namespace portcullis::controllers
