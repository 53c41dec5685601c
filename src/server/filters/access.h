// Who is asking, and may they: authentication, the start of the audit event, impersonation,
// authorization. In this order, as kube-apiserver has it.
#pragma once

#include <optional>

#include "base/status.h"
#include "server/call.h"

namespace portcullis::server::filters {

// Sets call.user and call.audit. The error is the refusal. Where the request could not be noted, or
// an authorizer has failed and none has allowed it, `instead` is the answer.
base::Status CheckAccess(Call& call, std::optional<Reply>& instead);

}  // namespace portcullis::server::filters
