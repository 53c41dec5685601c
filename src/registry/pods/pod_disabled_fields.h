// SPDX-License-Identifier: Apache-2.0

// Fields of every pod spec behind feature gates (pkg/api/pod/util.go).
#pragma once

#include <string_view>

#include "registry/disabled_fields.h"

namespace portcullis::registry {

// `object` without what gates that are off rule out of its pod spec at `base`
// ("spec.template.spec"), unless the pod spec of `old` (null for a create) has it already.
json::Value WithoutDisabledFieldsOfPods(const Context& ctx, std::string_view base,
                                        json::Value object, json::Value old);

// The same for the status of a pod.
json::Value WithoutDisabledPodStatus(const Context& ctx, json::Value pod, json::Value old);

}  // namespace portcullis::registry
