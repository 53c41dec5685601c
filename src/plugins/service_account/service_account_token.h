// SPDX-License-Identifier: Apache-2.0

// How the token of a service account gets into the containers of a pod.
#pragma once

#include "json/value.h"

namespace portcullis::plugins::service_account {

// automountServiceAccountToken of the pod, else of the account, else true.
bool ShouldMountToken(json::Value pod_spec, json::Value account);

// Mounts the token volume in each init and app container that mounts nothing at its path, and adds
// the volume if it was mounted and is not there. A volume whose name begins with `kube-api-access-`
// is taken for it.
json::Value MountToken(json::Arena& arena, json::Value pod_spec);

// The elements reduced to {name}.
json::Value NamesOf(json::Arena& arena, json::Value references);

}  // namespace portcullis::plugins::service_account
