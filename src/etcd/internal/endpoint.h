// SPDX-License-Identifier: Apache-2.0

// Where a member listens, as --etcd-servers names it. Value type; pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace portcullis::etcd::internal {

struct Endpoint {
  std::string text;       // as given
  std::string host_port;  // connected to; also the authority of requests
  std::string host;       // verified in the certificate
  bool tls = false;
};

// "https://host:port", "http://host:port" or "host:port", which means TLS if `tls_by_default`. Without
// a port it is that of the scheme, as Go's client has it. Errors name the endpoint.
base::Result<Endpoint> ParseEndpoint(std::string_view text, bool tls_by_default);

}  // namespace portcullis::etcd::internal
