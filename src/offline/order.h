// SPDX-License-Identifier: Apache-2.0

// The order in which a kind is judged: the plugins of each phase and round, and with them the webhooks
// and policies of the files whose rules name it. `portcullis explain --order KIND`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "offline/inputs.h"
#include "offline/judge.h"

namespace portcullis::offline {

struct OrderStep {
  std::string plugin;
  std::string part;  // "configuration/webhook", "policy/binding"; "" for the plugin itself
  std::vector<std::string> operations;
  std::string note;  // "failurePolicy Ignore, namespaceSelector env=prod"
  Location place;    // of the part
};

struct OrderPhase {
  std::string name;  // "mutating", "validating"
  int round = 0;     // of the mutating phase: 1 runs if a webhook or policy has changed the object
  std::vector<OrderStep> steps;
};

struct Order {
  std::string resource;  // "deployments.apps"
  std::string version;
  std::vector<OrderPhase> phases;
};

// `kind` as kubectl takes it: deployments, deploy, Deployment, deployments.apps, pods/exec. Errors: a kind
// that is not served, a flag's value.
base::Result<Order> OrderOf(const Inputs& inputs, const JudgeOptions& options,
                            std::string_view kind);

std::string OrderAsText(const Order& order);
std::string OrderAsJson(const Order& order);

}  // namespace portcullis::offline
