// SPDX-License-Identifier: Apache-2.0

// MutatingAdmissionWebhook sends requests to the webhooks of MutatingWebhookConfigurations, one
// after the other, and applies the patches they answer with.
//
// Mutates: whatever the webhooks ask for. Validates: nothing.
// Ignores: webhook configurations and policies themselves, which no webhook may intercept.
// Behaviour follows the Kubernetes documentation, "Dynamic Admission Control".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::mutating_admission_webhook {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::mutating_admission_webhook
