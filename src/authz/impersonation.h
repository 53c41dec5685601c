// SPDX-License-Identifier: Apache-2.0

// Impersonation: the headers Impersonate-User, -Group, -Uid and -Extra-* let those who may act as
// somebody else. Two ways lead there. By the old one, the verb "impersonate" on each part of the
// other user is enough. Constrained impersonation asks twice: for "impersonate-on:<mode>:<verb>" on
// what the request is about, and for "impersonate:<mode>" on each part of the other user, where the
// mode goes by what the other user is: the node that the service account runs on, a node, a service
// account, somebody else. The way by which the user was last let through is tried first, then the
// constrained ones, then the old one; if none of all succeeds, the first refusal counts. (The order
// shows: by the old way a node has no group system:nodes unless it is named.) Source: k8s.io/apiserver/pkg/endpoints/filters/impersonation of Kubernetes 1.36.
// Not as there: successes are not kept, so that a right that is taken away is gone at once.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>

#include "api/user_info.h"
#include "authz/authorizer.h"
#include "base/mutex.h"
#include "base/status.h"

namespace portcullis::net {
class Headers;
}

namespace portcullis::authz {

struct Impersonated {
  api::UserInfo user;
  std::string constraint;  // "impersonate:<mode>", for the audit log; "" by the old way
};

// The mode by which each user was last let through. Thread-safe. Of at most 10,000 users; then it
// starts over.
class LastModes {
 public:
  std::optional<std::size_t> Find(const std::string& user) const;
  void Remember(const std::string& user, std::size_t mode);

 private:
  mutable base::Mutex mutex_;
  std::unordered_map<std::string, std::size_t> modes_ PC_GUARDED_BY(mutex_);
};

// Whom to go on as, or no value if the request does not ask for somebody. `request` is what is
// asked for, by the user who asks. An error is the refusal: 403, or 400 for headers without a user.
// Without `modes` (the gate ConstrainedImpersonation is off) there is only the old way.
base::Result<std::optional<Impersonated>> Impersonate(const net::Headers& headers,
                                                      const Attributes& request,
                                                      const Authorizer& authorizer,
                                                      LastModes* modes);

}  // namespace portcullis::authz
