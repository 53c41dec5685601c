// SPDX-License-Identifier: Apache-2.0

// What POSTs to subresources share: their bodies and what they answer.
#pragma once

#include "base/status.h"
#include "engine/operation.h"
#include "engine/options.h"
#include "json/value.h"

namespace portcullis::engine {

// The body of a POST to a subresource, decoded, its metadata completed by the operation.
base::Result<json::Value> DecodeSubresourceBody(Operation& op, const Input& input);

// {"kind": "Status", "status": "Success", "code": 201}
json::Value CreatedStatus(json::Arena& arena);

}  // namespace portcullis::engine
