// SPDX-License-Identifier: Apache-2.0

// Any certificate request: reading it never crashes or reads past its end. The first byte says
// whether the rest is the PEM text itself or the DER that is put into one.
#include <cstdlib>
#include <string>

#include "base/strings.h"
#include "plugins/common/certificate_request.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string pem(rest);
  if (data[0] % 2 != 0) {
    pem = "-----BEGIN CERTIFICATE REQUEST-----\n" + portcullis::base::Base64Encode(rest) +
          "\n-----END CERTIFICATE REQUEST-----\n";
  }
  const auto subject = portcullis::plugins::common::ParseCertificateRequest(pem);
  if (!subject.ok() && subject.status().message().empty()) std::abort();
  // What a subject names was in the request.
  if (subject.ok() && subject->common_name.size() > pem.size()) std::abort();
  return 0;
}
