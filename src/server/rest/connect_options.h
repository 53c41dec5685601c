// SPDX-License-Identifier: Apache-2.0

// What a request for a connection or a log says in its query.
#pragma once

#include "base/status.h"
#include "json/value.h"
#include "server/call.h"

namespace portcullis::server::rest {

// The options object of a connection (PodExecOptions, PodPortForwardOptions, …).
base::Result<json::Value> ConnectOptions(Call& call);
// What kube-apiserver checks of a PodLogOptions before it looks for the pod.
base::Status CheckLogOptions(Call& call);

}  // namespace portcullis::server::rest
