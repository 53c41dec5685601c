// SPDX-License-Identifier: Apache-2.0

// The Node authorizer lets kubelets (user system:node:<name>, group system:nodes) do what kubelets
// do: read the objects that the pods bound to their node need, and their own Node, Lease, CSINode
// and ResourceSlices. Everything else that a kubelet does is by the rules of the ClusterRole
// system:node. What a node writes is narrowed further by the plugin NodeRestriction. Source:
// plugin/pkg/auth/authorizer/node/node_authorizer.go of Kubernetes 1.36. Thread-safe.
#pragma once

#include <memory>

#include "authz/authorizer.h"
#include "store/store.h"

namespace portcullis::authz::node {

// The feature gates that matter, as they are by default.
struct Features {
  bool pod_certificate_requests = false;   // PodCertificateRequest
  bool credential_provider_tokens = true;  // KubeletServiceAccountTokenForCredentialProviders
  bool cluster_trust_bundles = false;      // ClusterTrustBundle
};

// `store` must outlive the authorizer. `initializers` as for Graph::Open.
std::unique_ptr<Authorizer> MakeNodeAuthorizer(store::Store& store, const Features& features,
                                               bool initializers = false);

}  // namespace portcullis::authz::node
