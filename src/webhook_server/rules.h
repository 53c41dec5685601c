// SPDX-License-Identifier: Apache-2.0

// Which requests an API server has to send: the rules of webhook configurations, from what the plugins act on
// and what the policies of files match. Pure functions; values live in the arena.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "admission/plugin.h"
#include "api/catalog/catalog.h"
#include "json/value.h"
#include "offline/inputs.h"

namespace portcullis::webhook_server {

struct HookRules {
  json::Value rules;             // of a webhook; empty: the phase has nothing to do
  std::vector<std::string> any;  // the plugins for which every resource has to be sent
  bool is_wide() const { return !any.empty(); }
};

struct RuleSources {
  std::span<const admission::PluginInfo* const> plugins;
  const offline::Inputs& files;
  // Policy plugins whose policies are the cluster's, and not known.
  std::span<const std::string> unknown_policies;
  const api::catalog::Catalog& catalog;
};

HookRules RulesOf(json::Arena& arena, const RuleSources& sources, admission::Phase phase);

}  // namespace portcullis::webhook_server
