// SPDX-License-Identifier: Apache-2.0

#include "kubeconfig/in_cluster.h"

#include <unistd.h>

#include "base/file.h"
#include "base/strings.h"

namespace portcullis::kubeconfig {
bool IsInCluster(const ClusterPlace& place) {
  const std::string token = base::StrCat(place.folder, "/token");
  return !place.host.empty() && !place.port.empty() && ::access(token.c_str(), R_OK) == 0;
}

base::Result<ClientConfig> InCluster(const ClusterPlace& place) {
  if (place.host.empty() || place.port.empty()) {
    return base::ConfigError(
        "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and "
        "KUBERNETES_SERVICE_PORT must be defined");
  }
  ClientConfig config;
  const bool is_ipv6 = place.host.find(':') != std::string::npos;
  config.url = base::StrCat("https://", is_ipv6 ? base::StrCat("[", place.host, "]") : place.host,
                            ":", place.port);
  config.tls.ca_pem = TRY(base::ReadFile(base::StrCat(place.folder, "/ca.crt")));
  config.tls.protocols = net::ClientProtocols::kHttp2OrHttp1;
  config.user.token_file = base::StrCat(place.folder, "/token");
  TRY(base::ReadFile(config.user.token_file));
  return config;
}

}  // namespace portcullis::kubeconfig
