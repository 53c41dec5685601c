// SPDX-License-Identifier: Apache-2.0

// Which plugins judge in a webhook, and which cannot. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "admission/config.h"
#include "admission/plugin.h"
#include "base/status.h"
#include "release/release.h"

namespace portcullis::webhook_server {

struct PluginWishes {
  std::vector<std::string> enable;
  std::vector<std::string> disable;
  bool validating_policies = false;  // there are files with some
  bool mutating_policies = false;
  bool has_authorizer = false;  // a cluster can be asked who may do what, or files have roles
};

struct PluginChoice {
  admission::PluginFlags flags;                      // that make an engine run these and no others
  std::vector<const admission::PluginInfo*> chosen;  // in the order of the chain
  std::vector<std::string> notes;                    // what is different in a webhook, for the log
  bool Has(std::string_view name) const;
};

// Errors: kube-apiserver's for names that it does not know; a plugin that cannot be a webhook, with the
// reason; no plugin at all.
base::Result<PluginChoice> ChoosePlugins(const PluginWishes& wishes,
                                         const release::Release& release);

// Why the plugin cannot be a webhook; "" if it can.
std::string_view WhyNot(std::string_view plugin);
// Whether the plugin asks who may do what.
bool AsksAuthorizer(std::string_view plugin);

}  // namespace portcullis::webhook_server
