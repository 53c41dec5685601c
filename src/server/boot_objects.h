// The objects every cluster has: system namespaces, the Service "kubernetes", priority classes, and
// the roles and bindings of RBAC. Made at first start; those of RBAC are completed at each start.
#pragma once

#include "base/status.h"
#include "server/environment.h"

namespace portcullis::server {

base::Status MakeBootObjects(const Environment& env);

// Tells env.services which addresses and ports the stored Services hold.
void AdoptServices(const Environment& env);

}  // namespace portcullis::server
