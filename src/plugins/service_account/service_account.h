// SPDX-License-Identifier: Apache-2.0

// ServiceAccount gives every pod an identity: the service account default unless it names one, and
// a token for it.
//
// Mutates: serviceAccountName, the token volume with its mounts, and imagePullSecrets of new pods.
// Validates: that the account exists, that mirror pods use neither accounts nor secrets, and that
// pods of accounts with kubernetes.io/enforce-mountable-secrets use only secrets the account
// lists.
// Ignores: updates other than of ephemeral containers.
// Behaviour follows the Kubernetes documentation, "Admission Controllers: ServiceAccount".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::service_account {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::service_account
