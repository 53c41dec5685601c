// Who is asking, and may they: authentication, the start of the audit event, impersonation,
// authorization. In this order, as kube-apiserver has it.
#pragma once

#include "base/status.h"
#include "server/call.h"

namespace portcullis::server::filters {

// Sets call.user and call.audit. The error is the refusal.
base::Status CheckAccess(Call& call);

}  // namespace portcullis::server::filters
