// SPDX-License-Identifier: Apache-2.0

#include "webhook_server/plugin_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugins/registry.h"

namespace portcullis::webhook_server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Names(const PluginChoice& choice) {
  std::vector<std::string> names;
  for (const admission::PluginInfo* plugin : choice.chosen) names.emplace_back(plugin->name);
  return names;
}

base::Result<PluginChoice> Choose(const PluginWishes& wishes) {
  return ChoosePlugins(wishes, release::Release::Newest());
}

TEST(PluginChoiceTest, TakesThoseThatAreEnabledAndNoDefaultOnes) {
  const auto choice = Choose({.enable = {"PodSecurity", "AlwaysPullImages"}});
  ASSERT_TRUE(choice.ok()) << choice.status().message();
  EXPECT_THAT(Names(*choice), ElementsAre("AlwaysPullImages", "PodSecurity"));
}

TEST(PluginChoiceTest, TakesThePluginsOfPolicies) {
  const auto both = Choose({.validating_policies = true, .mutating_policies = true});
  ASSERT_TRUE(both.ok()) << both.status().message();
  EXPECT_THAT(Names(*both), ElementsAre("MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"));
  const auto one = Choose({.disable = {"MutatingAdmissionPolicy"},
                           .validating_policies = true,
                           .mutating_policies = true});
  ASSERT_TRUE(one.ok()) << one.status().message();
  EXPECT_THAT(Names(*one), ElementsAre("ValidatingAdmissionPolicy"));
}

TEST(PluginChoiceTest, RefusesNothing) {
  EXPECT_THAT(Choose({}).status().message(), HasSubstr("no plugin is enabled"));
}

TEST(PluginChoiceTest, RefusesUnknownNames) {
  EXPECT_THAT(Choose({.enable = {"PodSecurty"}}).status().message(),
              HasSubstr("plugin \"PodSecurty\" is unknown (did you mean PodSecurity?)"));
}

TEST(PluginChoiceTest, RefusesByNameWhatCannotBeAWebhook) {
  for (const char* name :
       {"MutatingAdmissionWebhook", "ValidatingAdmissionWebhook", "GenericAdmissionWebhook",
        "Initializers", "NamespaceAutoProvision", "NodeRestriction"}) {
    EXPECT_THAT(Choose({.enable = {name}}).status().message(),
                HasSubstr(std::string("\"") + name + "\" cannot be a webhook: "));
  }
}

TEST(PluginChoiceTest, RefusesThoseThatAskForRightsWithoutAnAuthorizer) {
  PluginWishes wishes{.enable = {"CertificateApproval"}};
  EXPECT_THAT(Choose(wishes).status().message(), HasSubstr("--kubeconfig"));
  wishes.has_authorizer = true;
  EXPECT_TRUE(Choose(wishes).ok());
}

TEST(PluginChoiceTest, SaysThatQuotasAreNotCharged) {
  const auto choice = Choose({.enable = {"ResourceQuota"}});
  ASSERT_TRUE(choice.ok());
  EXPECT_THAT(choice->notes, ElementsAre(HasSubstr("checked and not charged")));
}

TEST(PluginChoiceTest, KnowsThePluginsThatItSpeaksOf) {
  for (const admission::PluginInfo* plugin : plugins::Registered()) {
    if (WhyNot(plugin->name).empty()) continue;
    EXPECT_FALSE(AsksAuthorizer(plugin->name));
  }
}

}  // namespace
}  // namespace portcullis::webhook_server
