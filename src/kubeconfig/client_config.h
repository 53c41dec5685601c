// SPDX-License-Identifier: Apache-2.0

// ClientConfig: what one context of a kubeconfig leads to, checked as client-go's
// DirectClientConfig does (k8s.io/client-go/tools/clientcmd). Value type.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "kubeconfig/config.h"
#include "kubeconfig/exec_credentials.h"
#include "net/proxy.h"
#include "net/tls.h"

namespace portcullis::kubeconfig {

struct ClientConfig {
  std::string
      url;  // "https://10.0.0.1:6443/prefix", without a slash at its end, query and fragment
  net::ClientTlsOptions tls;                       // without a client certificate
  std::shared_ptr<const net::ProxyRules> proxies;  // `proxy-url`; null: none
  bool disable_compression = false;
  // Without credentials if the server is not called by https.
  User user;
  std::string namespace_name = "default";
  ExecCluster exec_cluster;  // what the user's program learns about the server
};

// The context of that name, or the current one. Errors: `invalid configuration: no configuration
// has been provided, try setting KUBERNETES_MASTER environment variable`, `context "x" does not
// exist`, `invalid configuration: [unable to read client-cert …, …]`.
base::Result<ClientConfig> Resolve(const Config& config, std::string_view context = {});

}  // namespace portcullis::kubeconfig
