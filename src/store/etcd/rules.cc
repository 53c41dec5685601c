// SPDX-License-Identifier: Apache-2.0

#include "store/etcd/rules.h"

#include <algorithm>
#include <iterator>

#include "base/strings.h"
#include "store/storage_key.h"

namespace portcullis::store {
namespace {

// Built-in kinds of which no admission plugin, authorizer or authenticator reads the objects before
// another object is created, updated or deleted, in order. (A plugin that reads pods does so for
// requests about nodes, for exec, and for warnings; a token bound to a pod is checked by the pod:
// the server asks etcd before those.)
constexpr Collection kJudgeNothing[] = {
    {"", "configmaps"},
    {"", "endpoints"},
    {"", "events"},
    {"", "pods"},
    {"", "podtemplates"},
    {"", "replicationcontrollers"},
    {"apps", "controllerrevisions"},
    {"apps", "daemonsets"},
    {"apps", "deployments"},
    {"apps", "replicasets"},
    {"apps", "statefulsets"},
    {"autoscaling", "horizontalpodautoscalers"},
    {"batch", "cronjobs"},
    {"batch", "jobs"},
    {"coordination.k8s.io", "leasecandidates"},
    {"coordination.k8s.io", "leases"},
    {"discovery.k8s.io", "endpointslices"},
    {"networking.k8s.io", "ingresses"},
    {"networking.k8s.io", "networkpolicies"},
    {"storage.k8s.io", "csistoragecapacities"},
};

}  // namespace

std::string RulesKey(std::string_view prefix) { return base::StrCat(prefix, "/portcullis/rules"); }

bool HasRules(const Collection& collection) {
  if (!IsBuiltIn(collection)) return false;  // parameters of policies are asked for before
  return std::find(std::begin(kJudgeNothing), std::end(kJudgeNothing), collection) ==
         std::end(kJudgeNothing);
}

bool MayBeUntoldRule(const Collection& collection) {
  return HasRules(collection) && collection.resource != "resourcequotas";  // see ChangesRules()
}

base::Status RulesHaveChanged() {
  return {base::Reason::kExpired, "rules have changed since the request began"};
}

bool ChangesRules(const Change& change) {
  const Collection collection = change.key.collection();
  if (collection == Collection{"", "resourcequotas"} && change.kind == Change::Kind::kUpdate) {
    return false;
  }
  return HasRules(collection);
}

}  // namespace portcullis::store
