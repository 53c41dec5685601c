// SPDX-License-Identifier: Apache-2.0

// Signatures of certificate requests (RFC 2986).
#pragma once

#include <string>
#include <string_view>

namespace portcullis::pki {

// What Go's CertificateRequest.CheckSignature says of a request in DER, as in `x509: ECDSA
// verification failure`; "" if it is signed with the key in it.
std::string RequestSignatureProblem(std::string_view der);

}  // namespace portcullis::pki
