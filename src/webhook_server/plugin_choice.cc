// SPDX-License-Identifier: Apache-2.0

#include "webhook_server/plugin_choice.h"

#include <algorithm>
#include <iterator>

#include "base/strings.h"
#include "plugins/registry.h"

namespace portcullis::webhook_server {
namespace {

struct Remark {
  std::string_view plugin;
  std::string_view text;
};

constexpr std::string_view kCallsWebhooks = "it calls webhooks, which the API server does itself";

constexpr Remark kImpossible[] = {
    {"GenericAdmissionWebhook", kCallsWebhooks},
    {"Initializers", "objects that are not initialized are held back by the API server's storage"},
    {"MutatingAdmissionWebhook", kCallsWebhooks},
    {"NamespaceAutoProvision",
     "the API server's NamespaceLifecycle refuses the request before any webhook is called"},
    {"NodeRestriction",
     "it is about requests of kubelets, which a webhook must not hold up; every API server can run "
     "it"},
    {"ValidatingAdmissionWebhook", kCallsWebhooks},
};

constexpr Remark kDifferent[] = {
    {"EventRateLimit", "each replica counts for itself"},
    {"ResourceQuota",
     "quotas are checked and not charged: requests at the same time may exceed them together"},
};

constexpr std::string_view kAskAuthorizer[] = {
    "CertificateApproval", "CertificateSigning", "ClusterTrustBundleAttest",
    "OwnerReferencesPermissionEnforcement", "PodSecurityPolicy"};

std::string_view TextFor(std::span<const Remark> remarks, std::string_view plugin) {
  const auto found = std::find_if(remarks.begin(), remarks.end(),
                                  [&](const Remark& remark) { return remark.plugin == plugin; });
  return found == remarks.end() ? std::string_view() : found->text;
}

bool Contains(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

base::Status Check(const admission::PluginInfo& plugin, const PluginWishes& wishes) {
  if (const auto reason = WhyNot(plugin.name); !reason.empty()) {
    return base::ConfigError(base::StrCat("enable-admission-plugins plugin \"", plugin.name,
                                          "\" cannot be a webhook: ", reason));
  }
  if (AsksAuthorizer(plugin.name) && !wishes.has_authorizer) {
    return base::ConfigError(base::StrCat(
        "enable-admission-plugins plugin \"", plugin.name,
        "\" asks who may do what: give it a cluster by --kubeconfig, or roles by --policies"));
  }
  return base::OkStatus();
}

}  // namespace

std::string_view WhyNot(std::string_view plugin) { return TextFor(kImpossible, plugin); }

bool AsksAuthorizer(std::string_view plugin) {
  return std::find(std::begin(kAskAuthorizer), std::end(kAskAuthorizer), plugin) !=
         std::end(kAskAuthorizer);
}

bool PluginChoice::Has(std::string_view name) const {
  return std::any_of(chosen.begin(), chosen.end(),
                     [&](const admission::PluginInfo* plugin) { return plugin->name == name; });
}

base::Result<PluginChoice> ChoosePlugins(const PluginWishes& wishes,
                                         const release::Release& release) {
  const auto registered = plugins::Registered();
  PluginChoice choice;
  choice.flags.enable = wishes.enable;
  for (const auto& [wanted, name] :
       {std::pair(wishes.validating_policies, "ValidatingAdmissionPolicy"),
        std::pair(wishes.mutating_policies, "MutatingAdmissionPolicy")}) {
    const bool said = Contains(wishes.enable, name) || Contains(wishes.disable, name);
    if (wanted && !said) choice.flags.enable.emplace_back(name);
  }
  choice.flags.disable = wishes.disable;
  for (const admission::PluginInfo* plugin : registered) {
    if (plugin->by_default == admission::Default::kOff) continue;
    if (!release.IsWithin(plugin->since_minor, plugin->until_minor)) continue;
    const std::string name(plugin->name);
    if (!Contains(choice.flags.enable, name) && !Contains(choice.flags.disable, name)) {
      choice.flags.disable.push_back(name);
    }
  }
  choice.chosen = TRY(admission::SelectPlugins(choice.flags, registered, {}, release));
  for (const admission::PluginInfo* plugin : choice.chosen) {
    TRY(Check(*plugin, wishes));
    if (const auto text = TextFor(kDifferent, plugin->name); !text.empty()) {
      choice.notes.push_back(base::StrCat(plugin->name, ": ", text));
    }
  }
  if (choice.chosen.empty()) {
    return base::ConfigError(
        "no plugin is enabled: --enable-admission-plugins names some, --policies brings policies");
  }
  return choice;
}

}  // namespace portcullis::webhook_server
