// SPDX-License-Identifier: Apache-2.0

// The pages of /debug/api_priority_and_fairness, column by column as kube-apiserver writes them
// (k8s.io/apiserver/pkg/util/flowcontrol, apf_controller_debug.go).
#pragma once

#include <span>
#include <string>

#include "base/clock.h"
#include "flow_control/queue_set.h"

namespace portcullis::flow_control {

struct LevelDump {
  std::string name;
  bool quiescing = false;
  QueueSetDump queues;
};

std::string FormatPriorityLevels(std::span<const LevelDump> levels);
std::string FormatQueues(std::span<const LevelDump> levels);
// With `with_details` the dumps hold RequestDetails.
std::string FormatRequests(std::span<const LevelDump> levels, bool with_details,
                           const base::Clock& clock);

}  // namespace portcullis::flow_control
