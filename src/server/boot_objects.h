// The objects every cluster has: system namespaces, the Service "kubernetes" and the range of its
// address, priority classes, flow control, what extension servers need to know, and the roles and
// bindings of RBAC. What is missing is made at each start; what RBAC's objects lack is added.
#pragma once

#include <string_view>

#include "base/status.h"
#include "server/environment.h"

namespace portcullis::server {

// `client_authority`: the authorities that client certificates are checked against, in PEM.
base::Status MakeBootObjects(const Environment& env, std::string_view client_authority);

// Tells env.services which addresses and ports the stored Services hold.
void AdoptServices(const Environment& env);

}  // namespace portcullis::server
