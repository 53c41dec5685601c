// SPDX-License-Identifier: Apache-2.0

// The option objects of CONNECT requests (PodExecOptions and its like): kinds of core/v1 that
// OpenAPI does not describe, decoded as Go decodes them.
#pragma once

#include "api/names.h"
#include "base/status.h"
#include "json/value.h"

namespace portcullis::admission {

// `object` with the fields of `kind` only, empty ones left out. Objects of other kinds come back as
// they are. Errors are Go's: `json: cannot unmarshal string into Go struct field …`.
base::Result<json::Value> DecodeConnectOptions(json::Arena& arena, json::Value object,
                                               const api::GroupVersionKind& kind);

}  // namespace portcullis::admission
