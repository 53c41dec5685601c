// Route finds what a request is for and lets it be done: a verb on a resource, or one of the
// documents a server has beside its resources.
#pragma once

#include "server/call.h"

namespace portcullis::server {

// The call has been authorized. Never fails: errors are replies.
Reply Route(Call& call);

}  // namespace portcullis::server
