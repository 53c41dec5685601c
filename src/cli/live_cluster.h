// SPDX-License-Identifier: Apache-2.0

// What a running cluster has that files lack, for the offline commands: only read, never written.
#pragma once

#include <string>

#include "base/status.h"
#include "kubeconfig/client_config.h"
#include "offline/inputs.h"

namespace portcullis::cli {

struct LiveCluster {
  std::string kubeconfig;  // "": $KUBECONFIG, else ~/.kube/config
  std::string context;     // "": the current one
  std::string ns;          // of manifests that name none
};

// How the cluster is reached. Errors: no such file, no such context.
base::Result<kubeconfig::ClientConfig> ConfigOf(const LiveCluster& live);

// Adds to `inputs.given` policies, bindings, webhook configurations, definitions, namespaces, quotas, limit
// ranges, classes, service accounts, the parameters of the policies, and the stored versions of the
// manifests, as far as no manifest is the same object. Secrets are not read. Kinds that the cluster does
// not have, or does not let read, are left out with a problem in the second case.
base::Status ReadLiveCluster(const LiveCluster& live, offline::Inputs& inputs);

}  // namespace portcullis::cli
