// SPDX-License-Identifier: Apache-2.0

// Which secrets a pod may use: none for mirror pods, only the account's own where the account asks
// for it. Each function returns what is wrong, or "".
#pragma once

#include <string>

#include "json/value.h"

namespace portcullis::plugins::service_account {

std::string MirrorPodProblem(json::Value pod_spec);

// Volumes, init containers, containers and pull secrets, in this order; the first violation.
std::string SecretsProblem(json::Value pod_spec, json::Value account);
std::string EphemeralSecretsProblem(json::Value pod_spec, json::Value account);

}  // namespace portcullis::plugins::service_account
