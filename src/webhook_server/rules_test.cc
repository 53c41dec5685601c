// SPDX-License-Identifier: Apache-2.0

#include "webhook_server/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/writer.h"
#include "plugins/registry.h"

namespace portcullis::webhook_server {
namespace {

class RulesTest : public ::testing::Test {
 protected:
  HookRules Rules(std::vector<std::string_view> names, admission::Phase phase,
                  std::vector<std::string> unknown = {}) {
    std::vector<const admission::PluginInfo*> chosen;
    for (const admission::PluginInfo* plugin : plugins::Registered()) {
      for (const std::string_view name : names) {
        if (plugin->name == name) chosen.push_back(plugin);
      }
    }
    const auto catalog = api::catalog::Catalog::BuiltIn({});
    EXPECT_TRUE(catalog.ok());
    return RulesOf(arena_, {chosen, files_, unknown, **catalog}, phase);
  }

  json::Arena arena_;
  offline::Inputs files_;
};

TEST_F(RulesTest, NamesWhatThePluginsActOn) {
  const HookRules rules = Rules({"AlwaysPullImages", "LimitRanger"}, admission::kMutate);
  EXPECT_FALSE(rules.is_wide());
  EXPECT_EQ(
      json::ToString(rules.rules),
      R"([{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],)"
      R"("resources":["persistentvolumeclaims","pods","pods/resize"],"scope":"Namespaced"}])");
}

TEST_F(RulesTest, LeavesOutPhasesThatAPluginDoesNotHave) {
  EXPECT_TRUE(Rules({"PodSecurity"}, admission::kMutate).rules.empty());
  EXPECT_FALSE(Rules({"PodSecurity"}, admission::kValidate).rules.empty());
}

TEST_F(RulesTest, SaysWhichPluginsNeedEverything) {
  const HookRules rules = Rules({"PodSecurity", "ResourceQuota"}, admission::kValidate);
  EXPECT_THAT(rules.any, ::testing::ElementsAre("ResourceQuota"));
  // What the wide rule has is not said again.
  ASSERT_EQ(rules.rules.size(), 1U);
  EXPECT_EQ(rules.rules[0]["resources"][0].AsString(), "*/*");
}

TEST_F(RulesTest, CopiesTheRulesOfPolicies) {
  offline::ReadText("p.yaml", R"(
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
)",
                    true, files_);
  const HookRules rules = Rules({"ValidatingAdmissionPolicy"}, admission::kValidate);
  EXPECT_FALSE(rules.is_wide());
  EXPECT_EQ(json::ToString(rules.rules),
            R"([{"apiGroups":["apps"],"apiVersions":["v1"],"operations":["CREATE"],)"
            R"("resources":["deployments"],"scope":"*"}])");
  EXPECT_TRUE(
      Rules({"ValidatingAdmissionPolicy"}, admission::kValidate, {"ValidatingAdmissionPolicy"})
          .is_wide());
}

}  // namespace
}  // namespace portcullis::webhook_server
