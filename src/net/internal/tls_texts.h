// SPDX-License-Identifier: Apache-2.0

// Errors of the TLS library in the words of Go's crypto/tls.
#pragma once

#include <string>

namespace portcullis::net::internal {

// The text for an error code of the library's queue: "remote error: tls: bad certificate", "tls:
// first record does not look like a TLS handshake". What Go has no words for is "tls: " and the
// library's own reason.
std::string TlsErrorText(unsigned long code);
// "bad certificate" for 42.
std::string AlertText(int alert);

}  // namespace portcullis::net::internal
