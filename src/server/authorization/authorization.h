// SPDX-License-Identifier: Apache-2.0

// Authorization: the chain of authorizers that the flags or the file of --authorization-config ask
// for. The file is looked at each second; what has become of it is in force from then on, and a
// file that is wrong changes nothing.
#pragma once

#include <memory>

#include "authz/modes.h"
#include "base/clock.h"
#include "base/status.h"
#include "metrics/metrics.h"
#include "net/client.h"
#include "server/options.h"
#include "store/store.h"

namespace portcullis::server::authorization {

// What the chain is made of; outlives it.
struct Parts {
  store::Store& store;
  net::HttpsClient& https;  // calls webhooks
  const base::Clock& clock;
  metrics::Registry& metrics;
  metrics::Family<metrics::Counter>& decisions;  // apiserver_authorization_decisions_total
  bool aggregate_cluster_roles = true;
  authz::node::Features node;
};

// Thread-safe.
class Authorization {
 public:
  virtual ~Authorization() = default;
  virtual const authz::Authorizer& authorizer() const = 0;
  // Null unless RBAC is among the members.
  virtual const authz::rbac::RuleBook* rbac() const = 0;
};

// Errors are the operator's: a flag, a file.
base::Result<std::unique_ptr<Authorization>> MakeAuthorization(const Options& options,
                                                               const Parts& parts);

}  // namespace portcullis::server::authorization
