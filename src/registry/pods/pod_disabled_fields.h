// SPDX-License-Identifier: Apache-2.0

// Fields of every pod spec behind feature gates that are off (pkg/api/pod/util.go).
#pragma once

#include <span>

#include "registry/disabled_fields.h"

namespace portcullis::registry {

// Their paths start at the spec.
std::span<const DisabledField> DisabledFieldsOfPods();

}  // namespace portcullis::registry
