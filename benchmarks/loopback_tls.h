// SPDX-License-Identifier: Apache-2.0

// TLS of servers that benchmarks start on 127.0.0.1, with a certificate authority of their own.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "net/tls.h"

namespace portcullis {

struct LoopbackTls {
  std::string ca_pem;
  std::shared_ptr<const net::ServerTls> tls;
};

// `name`: the common name of the authority.
base::Result<LoopbackTls> MakeLoopbackTls(const std::string& name);

}  // namespace portcullis
