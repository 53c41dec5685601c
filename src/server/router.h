// SPDX-License-Identifier: Apache-2.0

// What a request is for: a verb on a resource, or one of the documents a server has beside its
// resources.
#pragma once

#include <optional>

#include "server/call.h"
#include "server/rest/verbs.h"

namespace portcullis::server {

// Where a call goes to: a verb, or its reply if it is known already.
struct Destination {
  rest::Verb verb = nullptr;
  std::optional<Reply> reply;
};

// The call has been authorized, and has its body. Never fails: errors are replies.
Destination FindDestination(Call& call);
// What the verb has come to, as a reply.
Reply ReplyOf(Call& call, rest::VerbResult result);

// How the failure of a write is answered: if its time was up when it failed, that is what counts.
base::Status WriteFailure(const Call& call, base::Status failure);

}  // namespace portcullis::server
