// SPDX-License-Identifier: Apache-2.0

// The plugins of this build, and the order in which the chain asks them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "admission/plugin.h"

namespace portcullis::plugins {

// Every plugin built in, in chain order.
std::vector<const admission::PluginInfo*> Registered();

// Every name that Kubernetes has known since v1.29, in its order (order.cc). Which of them a
// release has, the descriptors say (PluginInfo::since_minor, until_minor).
std::span<const std::string_view> KubernetesOrder();

// Sorts into chain order. A name that Kubernetes does not know runs just before the tail (policies,
// webhooks, quota, AlwaysDeny), in alphabetical order.
void SortByOrder(std::vector<const admission::PluginInfo*>& plugins);

}  // namespace portcullis::plugins
