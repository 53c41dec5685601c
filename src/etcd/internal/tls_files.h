// SPDX-License-Identifier: Apache-2.0

// The TLS identity that ClientOptions names by files.
#pragma once

#include <memory>

#include "base/status.h"
#include "etcd/client.h"
#include "net/tls.h"

namespace portcullis::etcd::internal {

inline bool HasTlsFiles(const ClientOptions& options) {
  return !options.ca_file.empty() || !options.certificate_file.empty() || !options.key_file.empty();
}

// Reads the files. Errors are Go's: `open x: no such file or directory`, "tls: failed to find any PEM
// data in certificate input".
base::Result<std::shared_ptr<const net::ClientTls>> LoadTls(const ClientOptions& options);

}  // namespace portcullis::etcd::internal
