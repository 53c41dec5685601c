// What POSTs to subresources share: their bodies and what they answer.
#pragma once

#include "base/status.h"
#include "json/value.h"
#include "server/call.h"
#include "server/rest_options.h"

namespace portcullis::server::rest {

// The body of a POST to a subresource, decoded, its metadata completed by the request. Sets
// `options` too.
base::Result<json::Value> ReadSubresourceBody(Call& call, WriteOptions& options);

// {"kind": "Status", "status": "Success", "code": 201}
json::Value CreatedStatus(json::Arena& arena);

}  // namespace portcullis::server::rest
