// SPDX-License-Identifier: Apache-2.0

// GenericAdmissionWebhook asks external admission hooks whether a request may go on: the webhooks of
// Kubernetes 1.7 and 1.8 (docs/legacy.md), registered as ExternalAdmissionHookConfigurations and
// asked in admission.k8s.io/v1alpha1. All that match are asked at once; the first denial counts, and
// all are waited for.
//
// Validates: what the hooks' rules match, configurations of hooks included.
// Behaviour follows the Kubernetes 1.8 documentation, "Dynamic Admission Control".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::generic_admission_webhook {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::generic_admission_webhook
