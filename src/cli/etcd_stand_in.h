// SPDX-License-Identifier: Apache-2.0

// The etcd of an envtest: a server of HTTP that says it is healthy and keeps nothing, because the
// API server beside it keeps its objects in its own memory.
#pragma once

#include <string>
#include <vector>

namespace portcullis::cli {

// Answers GET /health and /version at the first address of --listen-client-urls until SIGTERM or
// SIGINT. Returns the exit code.
int RunEtcdStandIn(const std::vector<std::string>& arguments);

}  // namespace portcullis::cli
