// SPDX-License-Identifier: Apache-2.0

#include "authz/node/node_authorizer.h"

#include <algorithm>
#include <string>
#include <vector>

#include "authz/node/graph.h"
#include "authz/rbac/bootstrap.h"
#include "authz/rbac/policy_rule.h"
#include "base/gotext.h"
#include "base/strings.h"

namespace portcullis::authz::node {
namespace {

constexpr std::string_view kUserPrefix = "system:node:";
constexpr std::string_view kLeaseNamespace = "kube-node-lease";

Decision Allowed() { return {Verdict::kAllowed, "", ""}; }
Decision No(std::string reason = {}) { return {Verdict::kNoOpinion, std::move(reason), ""}; }

bool IsOneOf(std::string_view verb, std::initializer_list<std::string_view> verbs) {
  return std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
}

// Whether the selector demands that `field` is the node.
bool SelectsNode(const Attributes& a, std::string_view field, std::string_view node) {
  if (a.selectors == nullptr) return false;
  for (const auto& term : a.selectors->fields) {
    if (term.field == field && !term.negated && term.value == node) return true;
  }
  return false;
}

// The rules for one node; used for one question.
class NodeRules {
 public:
  NodeRules(const Graph& graph, const Features& features, std::string_view node)
      : graph_(graph), features_(features), node_(node) {}

  using Rule = Decision (NodeRules::*)(const Attributes&) const;
  struct Row {
    std::string_view group;
    std::string_view resource;
    Rule rule;
  };
  // The resources that do not go by the rules of the ClusterRole.
  static const Row* Find(std::string_view group, std::string_view resource) {
    static constexpr Row kRows[] = {
        {"", "secrets", &NodeRules::Secrets},
        {"", "configmaps", &NodeRules::ConfigMaps},
        {"", "persistentvolumeclaims", &NodeRules::Claims},
        {"", "persistentvolumes", &NodeRules::Volumes},
        {"", "serviceaccounts", &NodeRules::ServiceAccounts},
        {"", "nodes", &NodeRules::Nodes},
        {"", "pods", &NodeRules::Pods},
        {"resource.k8s.io", "resourceclaims", &NodeRules::ResourceClaims},
        {"resource.k8s.io", "resourceslices", &NodeRules::Slices},
        {"storage.k8s.io", "volumeattachments", &NodeRules::Attachments},
        {"storage.k8s.io", "csinodes", &NodeRules::CsiNodes},
        {"coordination.k8s.io", "leases", &NodeRules::Leases},
        {"certificates.k8s.io", "podcertificaterequests", &NodeRules::CertificateRequests},
    };
    for (const Row& row : kRows) {
      if (row.group == group && row.resource == resource) return &row;
    }
    return nullptr;
  }

 private:
  Decision Related(Kind kind, const Attributes& a) const {
    if (a.name.empty()) return No("No Object name found");
    if (graph_.Relates(node_, kind, a.ns, a.name)) return Allowed();
    return No(base::StrCat("no relationship found between node '", node_, "' and this object"));
  }

  Decision ReadNamespaced(Kind kind, const Attributes& a) const {
    if (!IsOneOf(a.verb, {"get", "list", "watch"})) {
      return No("can only read resources of this type");
    }
    if (!a.subresource.empty()) return No("cannot read subresource");
    if (a.ns.empty()) return No("can only read namespaced object of this type");
    return Related(kind, a);
  }
  Decision Secrets(const Attributes& a) const { return ReadNamespaced(Kind::kSecret, a); }
  Decision ConfigMaps(const Attributes& a) const { return ReadNamespaced(Kind::kConfigMap, a); }

  Decision Get(Kind kind, const Attributes& a) const {
    if (a.verb != "get") return No("can only get individual resources of this type");
    if (!a.subresource.empty()) return No("cannot get subresource");
    return Related(kind, a);
  }
  Decision Volumes(const Attributes& a) const { return Get(Kind::kVolume, a); }
  Decision ResourceClaims(const Attributes& a) const { return Get(Kind::kResourceClaim, a); }
  Decision Attachments(const Attributes& a) const { return Get(Kind::kAttachment, a); }

  Decision Claims(const Attributes& a) const {
    if (a.subresource != "status") return Get(Kind::kClaim, a);
    if (!IsOneOf(a.verb, {"update", "patch"})) return No("can only get/update/patch this type");
    return Related(Kind::kClaim, a);
  }

  Decision ServiceAccounts(const Attributes& a) const {
    if (a.verb == "get" && a.subresource.empty()) {
      if (!features_.credential_provider_tokens && !features_.pod_certificate_requests) {
        return No("not allowed to get service accounts");
      }
      return ReadNamespaced(Kind::kServiceAccount, a);
    }
    if (a.verb != "create" || a.name.empty()) {
      return No("can only create tokens for individual service accounts");
    }
    if (a.subresource != "token") {
      return No("can only create token subresource of serviceaccount");
    }
    return Related(Kind::kServiceAccount, a);
  }

  Decision Leases(const Attributes& a) const {
    if (!IsOneOf(a.verb, {"get", "create", "update", "patch", "delete"})) {
      return No("can only get, create, update, patch, or delete a node lease");
    }
    if (a.ns != kLeaseNamespace) {
      return No(base::StrCat("can only access leases in the ", base::GoQuote(kLeaseNamespace),
                             " system namespace"));
    }
    // A create has no name in its path; NodeRestriction checks the name of the object.
    if (a.verb != "create" && a.name != node_) {
      return No("can only access node lease with the same name as the requesting node");
    }
    return Allowed();
  }

  Decision CsiNodes(const Attributes& a) const {
    if (!IsOneOf(a.verb, {"get", "create", "update", "patch", "delete"})) {
      return No("can only get, create, update, patch, or delete a CSINode");
    }
    if (!a.subresource.empty()) return No("cannot authorize CSINode subresources");
    if (a.verb != "create" && a.name != node_) {
      return No("can only access CSINode with the same name as the requesting node");
    }
    return Allowed();
  }

  Decision Slices(const Attributes& a) const {
    if (!a.subresource.empty()) return No("cannot authorize ResourceSlice subresources");
    if (a.verb == "create") return Allowed();
    if (IsOneOf(a.verb, {"get", "update", "patch", "delete"})) return Related(Kind::kSlice, a);
    if (!IsOneOf(a.verb, {"watch", "list", "deletecollection"})) {
      return No(
          "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, "
          "update, patch, delete, deletecollection");
    }
    if (SelectsNode(a, "spec.nodeName", node_)) return Allowed();
    return No("can only list/watch/deletecollection resourceslices with nodeName field selector");
  }

  Decision CertificateRequests(const Attributes& a) const {
    if (!features_.pod_certificate_requests) return No();
    if (!a.subresource.empty()) {
      return No("nodes may not access the status subresource of PodCertificateRequests");
    }
    if (a.verb == "create") return Allowed();
    if (a.verb == "get") return Related(Kind::kCertificateRequest, a);
    if (!IsOneOf(a.verb, {"list", "watch"})) {
      return No(base::StrCat("nodes may not ", a.verb, " podcertificaterequests"));
    }
    if (SelectsNode(a, "spec.nodeName", node_)) return Allowed();
    return No("can only list/watch podcertificaterequests with nodeName field selector");
  }

  Decision Nodes(const Attributes& a) const {
    if (a.subresource == "status") {
      return IsOneOf(a.verb, {"update", "patch"}) ? Allowed() : No();
    }
    if (!a.subresource.empty()) return No();
    if (IsOneOf(a.verb, {"create", "update", "patch"})) return Allowed();
    if (!IsOneOf(a.verb, {"get", "list", "watch"})) return No();
    if (a.name == node_) return Allowed();
    if (a.name.empty()) {
      return No(base::StrCat("node '", node_, "' cannot read all nodes, only its own Node object"));
    }
    return No(
        base::StrCat("node '", node_, "' cannot read '", a.name, "', only its own Node object"));
  }

  Decision Pods(const Attributes& a) const {
    if (a.subresource == "status") {
      return IsOneOf(a.verb, {"update", "patch"}) ? Allowed() : No();
    }
    if (a.subresource == "eviction") return a.verb == "create" ? Allowed() : No();
    if (!a.subresource.empty()) return No();
    if (a.verb == "get") return Get(Kind::kPod, a);
    if (IsOneOf(a.verb, {"create", "delete"})) return Allowed();  // mirror pods
    if (!IsOneOf(a.verb, {"list", "watch"})) return No();
    if (SelectsNode(a, "spec.nodeName", node_)) return Allowed();
    if (!a.name.empty()) return Related(Kind::kPod, a);
    return No("can only list/watch pods with spec.nodeName field selector");
  }

  const Graph& graph_;
  const Features& features_;
  const std::string_view node_;
};

class NodeAuthorizer final : public Authorizer {
 public:
  NodeAuthorizer(store::Store& store, const Features& features, bool initializers)
      : graph_(Graph::Open(store, initializers)), features_(features) {
    json::Arena arena;
    const auto enabled = [&](std::string_view gate) {
      return gate != "ClusterTrustBundle" || features_.cluster_trust_bundles;
    };
    for (const rbac::BootstrapObject& object : rbac::BootstrapObjects(arena, enabled)) {
      if (object.resource == "clusterroles" && object.name == "system:node") {
        rules_ = rbac::RulesFromJson(object.object["rules"]);
      }
    }
  }

  Decision Authorize(const Attributes& a) const override {
    if (!IsNode(*a.user)) return {};
    const std::string_view node = std::string_view(a.user->name).substr(kUserPrefix.size());
    if (node.empty()) {
      return No(base::StrCat("unknown node for user ", base::GoQuote(a.user->name)));
    }
    if (a.resource_request) {
      if (const NodeRules::Row* row = NodeRules::Find(a.group, a.resource)) {
        return (NodeRules(*graph_, features_, node).*row->rule)(a);
      }
    }
    for (const rbac::PolicyRule& rule : rules_) {
      if (rbac::Allows(rule, a)) return Allowed();
    }
    return {};
  }

  Rules RulesFor(const api::UserInfo& user, std::string_view) const override {
    Rules rules;
    if (!IsNode(user)) return rules;
    rules.incomplete = true;
    rules.error = "node authorizer does not support user rule resolution";
    return rules;
  }

 private:
  static bool IsNode(const api::UserInfo& user) {
    return user.name.starts_with(kUserPrefix) && user.InGroup("system:nodes");
  }

  const std::unique_ptr<Graph> graph_;
  const Features features_;
  std::vector<rbac::PolicyRule> rules_;
};

}  // namespace

std::unique_ptr<Authorizer> MakeNodeAuthorizer(store::Store& store, const Features& features,
                                               bool initializers) {
  return std::make_unique<NodeAuthorizer>(store, features, initializers);
}

}  // namespace portcullis::authz::node
