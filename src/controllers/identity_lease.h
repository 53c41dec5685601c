// SPDX-License-Identifier: Apache-2.0

// The Lease by which kube-apiserver makes itself known: "apiserver-<hash>" in kube-system, renewed
// every ten seconds. Those of servers that have long ended are removed (Kubernetes docs: "API
// server identity").
#pragma once

#include <string>
#include <string_view>

#include "controllers/controller.h"

namespace portcullis::controllers {

// The Lease's name, which tells hosts apart.
std::string ServerIdentity(std::string_view hostname);

// That of this host.
std::string OwnServerIdentity();

// Works as the server itself; not among --controllers.
extern const ControllerInfo kIdentityLease;

}  // namespace portcullis::controllers
