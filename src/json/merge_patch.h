// SPDX-License-Identifier: Apache-2.0

// JSON Merge Patch (RFC 7386) as the API server applies it to "application/merge-patch+json".
//
// Beyond the RFC, as in the library Kubernetes uses: nulls are also dropped from objects inside
// arrays, except where an array takes the place of an object.
#pragma once

#include "base/status.h"
#include "json/value.h"

namespace portcullis::json {

// The document with the patch merged in; shares everything unchanged with both, so both must
// outlive the result. Fails with BadRequest "Invalid JSON Document" for a null document and
// "Invalid JSON Patch" for a patch that is neither object nor array.
base::Result<Value> MergePatch(Arena& arena, Value document, Value patch);

}  // namespace portcullis::json
