// SPDX-License-Identifier: Apache-2.0

// apiserver_certificates_registry_csr_*: how many of the certificates that signers issue were asked for with a
// duration, and how many have it (pkg/registry/certificates/certificates/storage).
#pragma once

#include <memory>

#include "engine/write/execution.h"
#include "server/call.h"

namespace portcullis::server::rest {

// `execution`, or one that runs it and counts, if the call writes the status of a CertificateSigningRequest.
std::unique_ptr<engine::Execution> CountIssued(const Call& call,
                                               std::unique_ptr<engine::Execution> execution);

}  // namespace portcullis::server::rest
