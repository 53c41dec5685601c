// SPDX-License-Identifier: Apache-2.0

// `portcullis explain --server`: a running Portcullis judges manifests in dry runs and tells its traces.
#pragma once

#include "base/status.h"
#include "cli/live_cluster.h"
#include "offline/inputs.h"
#include "offline/result.h"

namespace portcullis::cli {

// A result with its trace for each manifest: a create, or an update if the server has the object. Nothing is
// written. Errors: the server is not reached, or makes no traces.
base::Result<offline::Report> ExplainOnServer(const LiveCluster& live,
                                              const offline::Inputs& inputs);

}  // namespace portcullis::cli
