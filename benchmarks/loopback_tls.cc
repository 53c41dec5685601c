// SPDX-License-Identifier: Apache-2.0

#include "loopback_tls.h"

#include "base/clock.h"
#include "pki/certificates.h"

namespace portcullis {

base::Result<LoopbackTls> MakeLoopbackTls(const std::string& name) {
  const auto now = base::SystemClock().Now();
  const auto authority = TRY(pki::MakeAuthority(name, now));
  pki::CertificateRequest request;
  request.common_name = "localhost";
  request.dns_names = {"localhost"};
  request.ip_addresses = {"127.0.0.1"};
  request.server = true;
  const auto serving = TRY(pki::Issue(authority, request, now));
  net::ServerTlsOptions options;
  options.certificate = {serving.certificate_pem, serving.key_pem, {}};
  return LoopbackTls{authority.certificate_pem, TRY(net::ServerTls::Create(options))};
}

}  // namespace portcullis
