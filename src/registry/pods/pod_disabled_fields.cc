// SPDX-License-Identifier: Apache-2.0

#include "registry/pods/pod_disabled_fields.h"

namespace portcullis::registry {
namespace {

constexpr DisabledField kOfPods[] = {
    {"ClusterTrustBundleProjection", "volumes[].projected.sources[].clusterTrustBundle"},
    {"PodCertificateRequest", "volumes[].projected.sources[].podCertificate"},
    {"GenericWorkload", "schedulingGroup"},
    {"ContainerStopSignals", "containers[].lifecycle.stopSignal", true},
    {"ContainerStopSignals", "initContainers[].lifecycle.stopSignal", true},
    {"ContainerStopSignals", "ephemeralContainers[].lifecycle.stopSignal", true},
};

}  // namespace

std::span<const DisabledField> DisabledFieldsOfPods() { return kOfPods; }

}  // namespace portcullis::registry
