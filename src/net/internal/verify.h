// Verification of a peer's certificate with the rules, the order and the texts of Go's crypto/x509:
// validity of the leaf, then its names, then the chain up to a trusted certificate, then key
// usages (chain.h).
//
// Names are taken from subject alternative names only. Every certificate of the root set is an
// anchor, whether self-signed or not. SHA-1 and MD5 signatures are not accepted.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "net/internal/x509.h"

namespace portcullis::net::internal {

enum class CertificateUse { kServer, kClient };

struct VerifyRequest {
  X509* leaf = nullptr;
  STACK_OF(X509) * intermediates = nullptr;  // may be null; may contain the leaf
  X509_STORE* roots = nullptr;
  std::string_view host;  // name or IP address; "" checks no name
  CertificateUse use = CertificateUse::kServer;
  base::WallTime now;
};

// "" or the error: "x509: certificate signed by unknown authority". Pure but for OpenSSL's caches.
std::string VerifyCertificate(const VerifyRequest& request);

// "" or the error: "x509: certificate is valid for a, not b".
std::string VerifyHost(X509* leaf, std::string_view host);

// "" or the error: "x509: certificate has expired or is not yet valid: …".
std::string ValidityError(const X509* certificate, base::WallTime now);

// "" or "x509: unhandled critical extension": what Go's parser gives no meaning to must not be
// passed over, in a leaf as little as above it. OpenSSL knows other extensions than Go does.
std::string CriticalExtensionError(X509* certificate);
bool HasSubjectAlternativeName(const X509* certificate);
bool HasInsecureSignature(const X509* certificate);  // SHA-1 or MD5

}  // namespace portcullis::net::internal
