// SPDX-License-Identifier: Apache-2.0

#include "etcd/internal/tls_files.h"

#include "base/file.h"

namespace portcullis::etcd::internal {

base::Result<std::shared_ptr<const net::ClientTls>> LoadTls(const ClientOptions& options) {
  net::ClientTlsOptions tls;
  tls.protocols = net::ClientProtocols::kHttp2;
  if (!options.ca_file.empty()) tls.ca_pem = TRY(base::ReadFile(options.ca_file));
  if (!options.certificate_file.empty()) {
    tls.certificate_pem = TRY(base::ReadFile(options.certificate_file));
  }
  if (!options.key_file.empty()) tls.key_pem = TRY(base::ReadFile(options.key_file));
  return net::ClientTls::Create(tls);
}

}  // namespace portcullis::etcd::internal
