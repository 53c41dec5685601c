// SPDX-License-Identifier: Apache-2.0

// What a request for a connection or a log says in its query.
#pragma once

#include "base/status.h"
#include "json/value.h"
#include "server/call.h"

namespace portcullis::server::rest {

// The options object of a connection (PodExecOptions, PodPortForwardOptions, …).
base::Result<json::Value> ConnectOptions(Call& call);
// That the numbers of a PodLogOptions are within their limits.
base::Status CheckLogOptions(Call& call);

}  // namespace portcullis::server::rest
