// SPDX-License-Identifier: Apache-2.0

// ValidatingAdmissionWebhook asks the webhooks of ValidatingWebhookConfigurations, all at the same
// time, whether a request may go on.
//
// Mutates: nothing. Validates: what the webhooks refuse.
// Ignores: webhook configurations and policies themselves, which no webhook may intercept.
// Behaviour follows the Kubernetes documentation, "Dynamic Admission Control".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::validating_admission_webhook {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::validating_admission_webhook
