// SPDX-License-Identifier: Apache-2.0

// Puts the authorizer together that --authorization-mode asks for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "authz/authorizer.h"
#include "authz/node/node_authorizer.h"
#include "base/status.h"
#include "metrics/metrics.h"
#include "store/store.h"

namespace portcullis::authz {

namespace rbac {
class RuleBook;
}

struct ModeOptions {
  // ABAC, AlwaysAllow, AlwaysDeny, Node, RBAC, Webhook; only the last may stand there more than
  // once.
  std::vector<std::string> modes = {"AlwaysAllow"};
  // Stands for Kubernetes' clusterrole-aggregation controller: aggregated ClusterRoles (admin,
  // edit, view) have the rules of those they choose. Without it only what is stored in them counts.
  bool aggregate_cluster_roles = true;
  node::Features node;  // what the member for Node heeds
  // Objects may have initializers left: what is not initialized grants and relates nothing.
  bool initializers = false;
  // The member for each Webhook among the modes, in their order.
  std::vector<std::shared_ptr<const Authorizer>> webhooks;
  std::shared_ptr<const Authorizer> abac;  // the member for ABAC
  // The rules to go on with when a chain takes the place of another; null: they are read.
  std::shared_ptr<rbac::RuleBook> rbac;
  // Where the members' decisions are counted, by type, name and decision; null: nowhere. The name
  // of the n-th member is names[n], by default its mode in small letters.
  metrics::Family<metrics::Counter>* decisions = nullptr;
  std::vector<std::string> names;
};

// The chain of authorizers, system:masters first. `store` must outlive it. Errors as
// kube-apiserver's: `unknown authorization mode …`.
struct Assembled {
  std::shared_ptr<const Authorizer> authorizer;
  // Answers role look-ups for escalation checks and aggregation; null unless RBAC is among the
  // modes.
  std::shared_ptr<rbac::RuleBook> rbac;
};
base::Result<Assembled> Assemble(const ModeOptions& options, store::Store& store);

// `member`, whose decisions are counted as type and name.
std::unique_ptr<Authorizer> MakeCounted(std::shared_ptr<const Authorizer> member, std::string type,
                                        std::string name,
                                        metrics::Family<metrics::Counter>& decisions);

}  // namespace portcullis::authz
