// Impersonation: the headers Impersonate-User, -Group, -Uid and -Extra-* let those who may act as
// somebody else. Source: Kubernetes docs, "User impersonation".
#pragma once

#include <optional>

#include "api/user_info.h"
#include "authz/authorizer.h"
#include "base/status.h"

namespace portcullis::net {
class Headers;
}

namespace portcullis::authz {

// The user to go on as, or no value if the request does not ask for one. An error is the refusal
// (403, or 400/500 for headers that contradict each other).
base::Result<std::optional<api::UserInfo>> Impersonate(const net::Headers& headers,
                                                       const api::UserInfo& user,
                                                       const Authorizer& authorizer);

}  // namespace portcullis::authz
