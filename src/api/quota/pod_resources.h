// SPDX-License-Identifier: Apache-2.0

// What a pod as a whole asks for: the sum over its containers, with the rules for init containers,
// sidecars, pod-level resources and overhead. And its quality-of-service class.
//
// Kubernetes docs: "Resource Management for Pods and Containers", "Sidecar Containers", "Pod
// Overhead", "Assign Pod-level CPU and memory resources".
#pragma once

#include <cstdint>
#include <string_view>

#include "api/quota/resources.h"
#include "json/value.h"

namespace portcullis::api::quota {

struct PodResourceOptions {
  // Pod-level amounts take the place of the containers' for cpu and memory, and for huge pages
  // unless told otherwise.
  bool pod_level = true;
  bool pod_level_huge_pages = true;
  bool overhead = true;
  // Count what a resize in progress still holds (status.containerStatuses), not only the spec.
  bool status = false;
};

Resources PodRequests(json::Value pod, const PodResourceOptions& options);
Resources PodLimits(json::Value pod, const PodResourceOptions& options);

// True if the pod-level resources name one that is supported there.
bool HasPodLevelResources(json::Value pod_spec);

enum class QosClass : std::uint8_t { kGuaranteed, kBurstable, kBestEffort };
// status.qosClass if it is set, else computed from the spec.
QosClass QosOf(json::Value pod);

}  // namespace portcullis::api::quota
