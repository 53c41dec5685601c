// SPDX-License-Identifier: Apache-2.0

// Warnings about objects that make pods, and about the names that pods get of them. Stateless; any
// thread.
#pragma once

#include <string>
#include <vector>

#include "registry/strategy.h"

namespace portcullis::registry {

// A name that pods' hostnames cannot be made of.
void WarnOfPodName(const Context& ctx, json::Value object, std::vector<std::string>& warnings);
// What a pod template holds, if it has changed.
void WarnOfTemplateOnly(const Context& ctx, json::Value object, json::Value old,
                        std::vector<std::string>& warnings);
// A WarningSource (kind_table.h): the name, and the pod template of any kind that has one.
void WarnOfTemplate(const Context& ctx, json::Value object, json::Value old,
                    std::vector<std::string>& warnings);

}  // namespace portcullis::registry
