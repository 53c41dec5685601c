// SPDX-License-Identifier: Apache-2.0

// Certificates in DER, as clients present them: reading and verifying any bytes, and a chain of two.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "pki/certificates.h"

namespace pki = portcullis::pki;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto now = portcullis::base::SystemClock().Now();
  static const auto pool =
      pki::CertificatePool::Create(pki::MakeAuthority("trusted", now)->certificate_pem).value();
  const std::string der(reinterpret_cast<const char*>(data), size);
  const pki::CertificateInfo info = pki::DescribeCertificate(der);
  if (info.der != der) std::abort();
  // Nothing that was made up here leads to the authority above.
  if (pool->VerifyClient({der}, now).empty()) std::abort();
  const std::size_t half = size / 2;
  if (pool->VerifyClient({der.substr(0, half), der.substr(half)}, now).empty()) std::abort();
  return 0;
}
