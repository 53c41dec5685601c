// SPDX-License-Identifier: Apache-2.0

// Who is asking, and may they: authentication, the start of the audit event and impersonation;
// then, when the request has its seat, authorization. In this order, as kube-apiserver has it.
#pragma once

#include <optional>

#include "authz/authorizer.h"
#include "base/status.h"
#include "server/call.h"

namespace portcullis::server::filters {

// Sets call.user, call.audit_id and call.audit. The error is the refusal. Where the request could
// not be noted `instead` is the answer. Of a call that begins again, the audit event is the same.
base::Status Identify(Call& call, std::optional<Reply>& instead);
// What the authentication has said of the request, once more for a recorder that was cleared.
void NoteIdentity(Call& call);
// The same for a request of the server itself: who asks is known.
void IdentifyOwn(Call& call, const api::UserInfo& user, std::optional<Reply>& instead);
// What call.user wants to do, as authorizers see it. It refers to the call.
authz::Attributes AuthorizationAttributes(const Call& call);
// May call.user do it? Where an authorizer has failed and none has allowed it, `instead` is the
// answer.
base::Status Authorize(Call& call, std::optional<Reply>& instead);

}  // namespace portcullis::server::filters
