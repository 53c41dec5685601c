// SPDX-License-Identifier: Apache-2.0

// CertificateSigning lets only those put a certificate into a CertificateSigningRequest, or change
// its conditions, who may sign for its signer.
//
// Validates: updates of certificatesigningrequests/status that change status.certificate or
// status.conditions, by the signer of the stored request.
// Ignores: everything else.
// Behaviour follows the Kubernetes documentation, "Admission Controllers: CertificateSigning".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::certificate_signing {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::certificate_signing
