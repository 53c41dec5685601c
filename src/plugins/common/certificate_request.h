// SPDX-License-Identifier: Apache-2.0

// The subject of a PKCS #10 certificate request (RFC 2986), which is all that admission looks at.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace portcullis::plugins::common {

struct RequestSubject {
  std::string common_name;
  std::vector<std::string> organizations;
};

// Reads the PEM block CERTIFICATE REQUEST in `pem`. Errors: `PEM block type must be CERTIFICATE
// REQUEST`, or `asn1: structure error: …` for bytes that are no request.
base::Result<RequestSubject> ParseCertificateRequest(std::string_view pem);

}  // namespace portcullis::plugins::common
