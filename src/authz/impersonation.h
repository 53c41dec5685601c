// Impersonation: the headers Impersonate-User, -Group, -Uid and -Extra-* let those who may act as
// somebody else. Two ways lead there. By the old one, the verb "impersonate" on each part of the
// other user is enough. Constrained impersonation asks twice: for "impersonate-on:<mode>:<verb>" on
// what the request is about, and for "impersonate:<mode>" on each part of the other user, where the
// mode goes by what the other user is: the node that the service account runs on, a node, a service
// account, somebody else. The constrained ways are tried first; if none of all succeeds, the first
// refusal counts. Source: k8s.io/apiserver/pkg/endpoints/filters/impersonation of Kubernetes 1.36.
// Not as there: successes are not kept, so that a right that is taken away is gone at once.
#pragma once

#include <optional>
#include <string>

#include "api/user_info.h"
#include "authz/authorizer.h"
#include "base/status.h"

namespace portcullis::net {
class Headers;
}

namespace portcullis::authz {

struct Impersonated {
  api::UserInfo user;
  std::string constraint;  // "impersonate:<mode>", for the audit log; "" by the old way
};

// Whom to go on as, or no value if the request does not ask for somebody. `request` is what is
// asked for, by the user who asks. An error is the refusal: 403, or 400 for headers without a user.
base::Result<std::optional<Impersonated>> Impersonate(const net::Headers& headers,
                                                      const Attributes& request,
                                                      const Authorizer& authorizer,
                                                      bool constrained);

}  // namespace portcullis::authz
