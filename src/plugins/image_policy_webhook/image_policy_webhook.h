// SPDX-License-Identifier: Apache-2.0

// ImagePolicyWebhook asks an outside service whether the images of a pod may run. Costs a call per
// new pod; answers are remembered for a while.
//
// Validates: images of new and updated pods, and of added ephemeral containers alone.
// Ignores: workloads, pods/status. If the service fails, defaultAllow decides.
// Behaviour follows the Kubernetes documentation, "Admission Controllers: ImagePolicyWebhook".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::image_policy_webhook {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::image_policy_webhook
