// SPDX-License-Identifier: Apache-2.0

// Any certificate request: reading it never crashes or reads past its end. The first byte says
// whether the rest is a PEM text or DER.
#include <cstdlib>
#include <string>

#include "pki/certificate_request.h"

namespace pki = portcullis::pki;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto request =
      data[0] % 2 != 0 ? pki::ParseCertificateRequest(rest) : pki::ReadCertificateRequest(rest);
  if (!request.ok()) {
    if (request.status().message().empty()) std::abort();
    return 0;
  }
  // What a subject names was in the request, of Latin-1 in at most twice as many bytes.
  if (request->subject.common_name.size() > 2 * rest.size()) std::abort();
  (void)pki::RequestSignatureProblem(*request);
  return 0;
}
