// Route finds what a request is for and lets it be done: a verb on a resource, or one of the
// documents a server has beside its resources.
#pragma once

#include "server/call.h"

namespace portcullis::server {

// The call has been authorized. Never fails: errors are replies.
Reply Route(Call& call);

// How the failure of a write is answered: if its time was up when it failed, that is what counts.
base::Status WriteFailure(const Call& call, base::Status failure);

}  // namespace portcullis::server
