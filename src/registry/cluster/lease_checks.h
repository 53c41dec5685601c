// SPDX-License-Identifier: Apache-2.0

// Checks that Leases and LeaseCandidates share (pkg/apis/coordination/validation). Pure functions.
#pragma once

#include <string_view>

#include "registry/validation/checks.h"

namespace portcullis::registry {

// How candidates are chosen from: a name that Kubernetes knows, or a qualified one.
void CheckLeaseStrategy(std::string_view strategy, const FieldPath& path, FieldErrors& errors);

}  // namespace portcullis::registry
