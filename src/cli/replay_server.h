// SPDX-License-Identifier: Apache-2.0

// `portcullis replay --server`: recorded requests, as dry runs to a running API server.
#pragma once

#include "base/status.h"
#include "cli/live_cluster.h"
#include "offline/inputs.h"
#include "offline/result.h"

namespace portcullis::cli {

// A result for each recorded request of `inputs.tests`. With `impersonate` each is made as its user.
// Errors: no kubeconfig, no answer, a server that would not take dry runs for what they are.
base::Result<offline::Report> ReplayOnServer(const LiveCluster& live, const offline::Inputs& inputs,
                                             bool impersonate);

}  // namespace portcullis::cli
