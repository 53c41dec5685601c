// SPDX-License-Identifier: Apache-2.0

// CertificateApproval lets only those approve a CertificateSigningRequest who may approve for its
// signer.
//
// Validates: updates of certificatesigningrequests/approval, changed or not, by the signer of the
// stored request.
// Ignores: everything else.
// Behaviour follows the Kubernetes documentation, "Admission Controllers: CertificateApproval".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::certificate_approval {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::certificate_approval
