// SPDX-License-Identifier: Apache-2.0

// The API server of the cluster that the process runs in, by what the kubelet gives to each pod
// (k8s.io/client-go/rest, InClusterConfig). Pure but for the files it reads.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "kubeconfig/client_config.h"

namespace portcullis::kubeconfig {

inline constexpr std::string_view kServiceAccountFolder =
    "/var/run/secrets/kubernetes.io/serviceaccount";

// What the process is given.
struct ClusterPlace {
  std::string host;  // $KUBERNETES_SERVICE_HOST
  std::string port;  // $KUBERNETES_SERVICE_PORT
  std::string folder = std::string(kServiceAccountFolder);
};

// Whether that is all that InCluster() needs: an address and a token.
bool IsInCluster(const ClusterPlace& place);
// Errors: `unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must
// be defined`, a file that cannot be read.
base::Result<ClientConfig> InCluster(const ClusterPlace& place);

}  // namespace portcullis::kubeconfig
