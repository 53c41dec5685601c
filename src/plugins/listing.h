// SPDX-License-Identifier: Apache-2.0

// What the built-in plugins are, as text: for `portcullis plugins` and docs/plugins.md.
#pragma once

#include <span>
#include <string>

#include "admission/plugin.h"

namespace portcullis::plugins {

// One line per plugin in chain order: name, phases, default, what it does.
std::string ListingTable(std::span<const admission::PluginInfo* const> plugins);
// A JSON array of objects: name, phases, operations, default, summary, configuration, and the
// Kubernetes releases that have it ("since", "until") where not all have.
std::string ListingJson(std::span<const admission::PluginInfo* const> plugins);
// The same in YAML.
std::string ListingYaml(std::span<const admission::PluginInfo* const> plugins);
// The page docs/plugins.md.
std::string ListingMarkdown(std::span<const admission::PluginInfo* const> plugins);

}  // namespace portcullis::plugins
