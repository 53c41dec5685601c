// SPDX-License-Identifier: Apache-2.0

// ServiceResolver: where a connection to a Service of the cluster is to be made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace portcullis::admission {

struct ServiceAddress {
  std::string host;  // address or name to dial
  std::uint16_t port = 0;
};

// Thread-safe.
class ServiceResolver {
 public:
  virtual ~ServiceResolver() = default;
  // Errors have kube-apiserver's texts: `service "web" not found`.
  virtual base::Result<ServiceAddress> Resolve(std::string_view namespace_name,
                                               std::string_view service, int port) const = 0;
};

}  // namespace portcullis::admission
