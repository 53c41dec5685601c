// SPDX-License-Identifier: Apache-2.0

// Verification of a peer's certificate with the rules, the order and the texts of Go's crypto/x509:
// validity of the leaf, then its names, then the chain up to a trusted certificate, then policies,
// key usages and name constraints (chain.h).
//
// Names are taken from subject alternative names only. Every certificate of the root set is an
// anchor, whether self-signed or not. SHA-1 and MD5 signatures are not accepted.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "pki/certificate.h"
#include "pki/x509.h"

namespace portcullis::pki {

enum class CertificateUse { kServer, kClient };

// A certificate of OpenSSL with what ParseCertificate has read from it.
struct ReadCertificate {
  X509Ptr x509;
  Certificate parsed;
};
using ReadCertificates = std::vector<ReadCertificate>;

// The error of the first one that Go's parser refuses: "x509: negative serial number".
base::Result<ReadCertificate> Read(X509* certificate);  // takes a reference of its own
// What a peer has sent, its leaf first and once only. `others` may be null and may hold the leaf.
base::Result<ReadCertificates> ReadAll(X509* leaf, const STACK_OF(X509) * others);

struct VerifyRequest {
  const ReadCertificates& chain;  // leaf first, not empty; the others are intermediates
  X509_STORE* roots = nullptr;
  std::string_view host;  // name or IP address; "" checks no name
  CertificateUse use = CertificateUse::kServer;
  base::WallTime now;
};

// Whether a certificate is good, and how long that stays so while the trusted certificates stay the
// same: at every time t with from <= floor(t) < until, in seconds since 1970. Empty in the very
// second in which one of the certificates expires.
struct Verdict {
  std::string error;  // "" or "x509: certificate signed by unknown authority"
  std::int64_t from = std::numeric_limits<std::int64_t>::min();
  std::int64_t until = std::numeric_limits<std::int64_t>::max();

  // The verdict of `now` depends on whether `certificate` is valid.
  void DependOn(const Certificate& certificate, base::WallTime now);
};

// Pure but for OpenSSL's caches.
Verdict VerifyCertificate(const VerifyRequest& request);

// "" or the error: "x509: certificate is valid for a, not b".
std::string VerifyHost(const Certificate& leaf, std::string_view host);

// "" or the error: "x509: certificate has expired or is not yet valid: …".
std::string ValidityError(const Certificate& certificate, base::WallTime now);

// "" or "x509: unhandled critical extension": what Go's parser gives no meaning to must not be
// passed over, in a leaf as little as above it.
std::string CriticalExtensionError(const Certificate& certificate);
bool HasInsecureSignature(const X509* certificate);  // SHA-1 or MD5

}  // namespace portcullis::pki
