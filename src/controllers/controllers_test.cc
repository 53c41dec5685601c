// SPDX-License-Identifier: Apache-2.0

// Which controllers --controllers selects.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "controllers/controller.h"

namespace portcullis::controllers {
namespace {

bool Selects(const std::vector<std::string>& list, std::string_view name) {
  const auto chosen = SelectControllers(list);
  return chosen.ok() && std::any_of(chosen->begin(), chosen->end(),
                                    [&](const ControllerInfo* info) { return info->name == name; });
}

constexpr std::string_view kOnByDefault = "namespace-controller";
constexpr std::string_view kOfAGroup = "deployment-controller";

TEST(SelectControllers, LeavesGroupsOutUnlessTheyAreNamed) {
  for (const std::vector<std::string>& list :
       {std::vector<std::string>{}, {"*"}, {"*", "-workloads"}}) {
    EXPECT_TRUE(Selects(list, kOnByDefault));
    EXPECT_FALSE(Selects(list, kOfAGroup));
  }
  EXPECT_TRUE(Selects({"workloads"}, kOnByDefault));
  EXPECT_TRUE(Selects({"workloads"}, kOfAGroup));
  EXPECT_TRUE(Selects({"*", "deployment-controller"}, kOfAGroup));
}

TEST(SelectControllers, LeavesOutWhatHasAMinus) {
  EXPECT_FALSE(Selects({"-*"}, kOnByDefault));
  EXPECT_FALSE(Selects({"-*", "workloads"}, kOnByDefault));
  EXPECT_TRUE(Selects({"-*", "workloads"}, kOfAGroup));
  EXPECT_FALSE(Selects({"*", "workloads", "-deployment-controller"}, kOfAGroup));
  EXPECT_FALSE(Selects({"deployment-controller"}, kOnByDefault));
}

TEST(SelectControllers, RefusesUnknownNames) {
  const auto chosen = SelectControllers({"*", "workload"});
  ASSERT_FALSE(chosen.ok());
  EXPECT_TRUE(chosen.status().message().starts_with(
      "\"workload\" is not in the list of known controllers, did you mean \"workloads\"?"))
      << chosen.status().message();
}

TEST(AllControllers, AreInAlphabeticalOrder) {
  const auto& all = AllControllers();
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end(),
                             [](const auto* a, const auto* b) { return a->name < b->name; }));
}

}  // namespace
}  // namespace portcullis::controllers
