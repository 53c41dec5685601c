// SPDX-License-Identifier: Apache-2.0

// Chains from a certificate to a trusted one, built and judged as Go's x509.Certificate.Verify does
// it: candidates are found by their subject alone, every certificate of the root set is an anchor,
// whatever it says of itself, and of several chains one good one is enough.
//
// Not left to OpenSSL, which takes a certificate whose issuer has the same name as its subject (two
// empty names, say) for self-signed and looks no further.
#pragma once

#include <string>

#include "pki/verify.h"

namespace portcullis::pki {

// Of chain and extended key usages: "x509: certificate signed by unknown authority (possibly because
// of …)"; the verdict depends on the roots that were tried. The leaf's own validity and names, and
// on what else the verdict depends, are VerifyCertificate's.
Verdict VerifyChain(const VerifyRequest& request);

}  // namespace portcullis::pki
