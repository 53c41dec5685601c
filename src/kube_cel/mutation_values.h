// SPDX-License-Identifier: Apache-2.0

// What mutations evaluate to, as JSON. The two kinds of mutation make it in different ways, and
// what one of them can express, the other may not.
#pragma once

#include "base/status.h"
#include "cel/value.h"
#include "json/value.h"

namespace portcullis::kube_cel {

// A constructed object as an apply configuration. Nulls, and lists and maps that are written inside
// of others, are nothing that Kubernetes' merging of objects understands: they become
// api::patch::ForeignValue(). Error: `invalid return type: …`.
base::Result<json::Value> ApplyConfigurationOf(json::Arena& arena, cel::Value object);

// A constructed JSONPatch as an operation. Numbers are what a double makes of them, or text where
// it would not be exact. Error: why the value is no JSON, as in `type conversion not supported for
// 'type'`.
base::Result<json::Value> PatchOperationOf(json::Arena& arena, cel::Value operation);

}  // namespace portcullis::kube_cel
