// SPDX-License-Identifier: Apache-2.0

// AppArmor profiles of containers were annotations before they were fields: a new pod gets each
// from the other, so that old and new readers agree (Kubernetes docs, "Restrict a Container's
// Access to Resources with AppArmor").
#pragma once

#include "json/value.h"

namespace portcullis::registry {

json::Value ReadAppArmorAnnotations(json::Arena& arena, json::Value pod);

}  // namespace portcullis::registry
