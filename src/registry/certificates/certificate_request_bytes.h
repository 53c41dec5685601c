// SPDX-License-Identifier: Apache-2.0

// Whether bytes can be a certificate request (RFC 2986), as far as the frame goes.
#pragma once

#include <string>
#include <string_view>

namespace portcullis::registry {

// What Go's crypto/x509 says of DER whose outer two sequences are wrong, `asn1: syntax error: data
// truncated`; "" if they are there. What is inside them is the signer's business.
std::string CertificateRequestProblem(std::string_view der);

}  // namespace portcullis::registry
