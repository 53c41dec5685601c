// SPDX-License-Identifier: Apache-2.0

// A certificate request (PKCS #10, RFC 2986) as Go's x509.ParseCertificateRequest reads it: who may
// have a certificate is decided by the subject that Go finds.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "pki/certificate.h"

namespace portcullis::pki {

struct SigningRequest {
  std::string signed_bytes;  // what the signature is of
  DistinguishedName subject;
  std::string public_key;  // a SubjectPublicKeyInfo
  std::string algorithm;   // the AlgorithmIdentifier of the signature
  std::string signature;
};

// Errors are Go's: `asn1: syntax error: data truncated`. Pure.
base::Result<SigningRequest> ParseCertificateRequest(std::string_view der);
// The request in the first block of a PEM text, `PEM block type must be CERTIFICATE REQUEST` if that
// is another one.
base::Result<SigningRequest> ReadCertificateRequest(std::string_view pem);

// What Go's CertificateRequest.CheckSignature says, as in `x509: ECDSA verification failure`; "" if
// the request is signed with the key in it.
std::string RequestSignatureProblem(const SigningRequest& request);

}  // namespace portcullis::pki
