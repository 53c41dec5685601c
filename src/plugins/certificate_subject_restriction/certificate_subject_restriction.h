// SPDX-License-Identifier: Apache-2.0

// CertificateSubjectRestriction keeps client certificates from being made for the group
// system:masters, whose members no authorizer can stop.
//
// Validates: new CertificateSigningRequests for the signer kubernetes.io/kube-apiserver-client.
// Ignores: other signers and subresources.
// Behaviour follows the Kubernetes documentation, "Admission Controllers:
// CertificateSubjectRestriction".
#pragma once

#include "admission/plugin.h"

namespace portcullis::plugins::certificate_subject_restriction {

extern const admission::PluginInfo kPlugin;

}  // namespace portcullis::plugins::certificate_subject_restriction
