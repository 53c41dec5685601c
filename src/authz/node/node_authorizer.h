// The Node authorizer lets kubelets (user system:node:<name>, group system:nodes) do what kubelets
// do, and read secrets, config maps and claims only of pods bound to their node. Source: Kubernetes
// docs, "Using Node Authorization". Thread-safe.
#pragma once

#include <memory>

#include "authz/authorizer.h"
#include "store/store.h"

namespace portcullis::authz::node {

// `reader` must outlive the authorizer.
std::unique_ptr<Authorizer> MakeNodeAuthorizer(const store::Reader& reader);

}  // namespace portcullis::authz::node
