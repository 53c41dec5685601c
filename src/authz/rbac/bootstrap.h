// SPDX-License-Identifier: Apache-2.0

// The ClusterRoles, Roles and bindings every cluster starts with (Kubernetes 1.36), made from the
// data in bootstrap_policy.cc. Source: Kubernetes docs, "Default roles and role bindings".
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "json/value.h"
#include "store/store.h"

namespace portcullis::authz::rbac {

struct BootstrapObject {
  std::string resource;  // clusterroles, clusterrolebindings, roles, rolebindings
  std::string ns;
  std::string name;
  json::Value object;  // without uid and creationTimestamp
  std::string like;    // what it begins as where it is missing; see Inherit()
};

// Whether a feature gate is on. Empty: those that are on by default in v1.36.
using GateEnabled = std::function<bool(std::string_view gate)>;

// In the order in which they are to be written; values live in `arena`.
std::vector<BootstrapObject> BootstrapObjects(json::Arena& arena,
                                              const GateEnabled& gate_enabled = {});

// What a missing object begins as, to be reconciled then: `source`, which is named wanted.like, is a
// binding that a release has split, or a role that it has made an aggregated one. A binding gets its
// subjects, labels and annotations, a role also its rules. Null: as `wanted`, since the role is an
// aggregated one already. Source: primeSplitClusterRoleBindings and primeAggregatedClusterRoles.
json::Value Inherit(json::Arena& arena, json::Value source, const BootstrapObject& wanted);

// What an existing role or binding lacks of the bootstrap one is added (kube-apiserver's
// reconciliation at start), unless it is annotated
// rbac.authorization.kubernetes.io/autoupdate=false. Returns the object to store, or null if
// nothing is missing.
json::Value Reconcile(json::Arena& arena, json::Value existing, const BootstrapObject& wanted);

// Whether an existing binding is one of another role, which no update can change: it is deleted and
// made anew, unless it is annotated so.
bool IsOfAnotherRole(json::Value existing, const BootstrapObject& wanted);

}  // namespace portcullis::authz::rbac
