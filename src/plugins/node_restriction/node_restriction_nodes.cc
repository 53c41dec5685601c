// SPDX-License-Identifier: Apache-2.0

// Nodes: a node changes only its own Node object, and of that neither taints nor labels that other
// things rely on.
#include <algorithm>
#include <iterator>
#include <set>

#include "admission/errors.h"
#include "api/domain.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "plugins/node_restriction/node_restriction_rules.h"

namespace portcullis::plugins::node_restriction {
namespace {

constexpr std::string_view kKubeletLabels[] = {
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
};

bool IsKubeletLabel(std::string_view key, std::string_view domain) {
  return std::find(std::begin(kKubeletLabels), std::end(kKubeletLabels), key) !=
             std::end(kKubeletLabels) ||
         api::IsInDomain(domain, "kubelet.kubernetes.io") ||
         api::IsInDomain(domain, "node.kubernetes.io");
}

bool IsForbiddenLabel(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return false;
  std::string_view domain = key.substr(0, slash);
  if (api::IsInDomain(domain, "node-restriction.kubernetes.io")) return true;
  if (!api::IsInDomainOfKubernetes(domain)) return false;
  return !IsKubeletLabel(key, domain);
}

// Keys added, removed or changed that a node may not touch, sorted.
std::set<std::string_view> ForbiddenChanges(json::Value before, json::Value after) {
  std::set<std::string_view> changed;
  auto compare = [&](json::Value some, json::Value others) {
    for (const json::Member& label : some.members()) {
      const json::Value* other = others.Find(label.name());
      if (other == nullptr || other->AsString() != label.value.AsString()) {
        if (IsForbiddenLabel(label.name())) changed.insert(label.name());
      }
    }
  };
  compare(before, after);
  compare(after, before);
  return changed;
}

bool Same(json::Value a, json::Value b) { return (a.empty() && b.empty()) || a == b; }

base::Status CheckNodeUpdate(const NodeRequest& node) {
  const json::Value before = node.request.old_object();
  const json::Value after = node.request.object();
  const json::Value source = after["spec"]["configSource"];
  if (!source.is_null() && !(source == before["spec"]["configSource"])) {
    return node.RefuseNode("is not allowed to update configSource to a new non-nil configSource");
  }
  if (!Same(before["spec"]["taints"], after["spec"]["taints"])) {
    return node.RefuseNode("is not allowed to modify taints");
  }
  if (node.release.Has("NodeRestrictionOwnerReferences") &&
      !Same(before["metadata"]["ownerReferences"], after["metadata"]["ownerReferences"])) {
    return node.RefuseNode("is not allowed to modify ownerReferences");
  }
  const std::set<std::string_view> labels =
      ForbiddenChanges(before["metadata"]["labels"], after["metadata"]["labels"]);
  if (labels.empty()) return base::OkStatus();
  return node.Refuse("is not allowed to modify labels: " + base::Join(labels, ", "));
}

base::Status CheckNodeCreate(const NodeRequest& node) {
  const json::Value object = node.request.object();
  if (!object["spec"]["configSource"].is_null()) {
    return node.RefuseNode("is not allowed to create pods with a non-nil configSource");
  }
  const std::set<std::string_view> labels = ForbiddenChanges({}, object["metadata"]["labels"]);
  if (labels.empty()) return base::OkStatus();
  return node.RefuseNode("is not allowed to set the following labels: " + base::Join(labels, ", "));
}

}  // namespace

std::string NodeRequest::Quoted() const { return base::GoQuote(name); }

base::Status NodeRequest::Refuse(std::string_view problem) const {
  return admission::Forbidden(request, problem);
}

base::Status NodeRequest::RefuseNode(std::string_view problem) const {
  return Refuse(base::StrCat("node ", Quoted(), " ", problem));
}

base::Status NodeRequest::RefuseOperation() const {
  return Refuse(base::StrCat("unexpected operation ",
                             base::GoQuote(admission::OperationText(request.operation()))));
}

base::Status CheckNode(const NodeRequest& node) {
  std::string_view name = node.request.name();
  if (name.empty()) name = node.request.object()["metadata"]["name"].AsString();
  if (name != node.name) {
    return node.RefuseNode(base::StrCat("is not allowed to modify node ", base::GoQuote(name)));
  }
  if (node.Is(admission::kCreate)) return CheckNodeCreate(node);
  if (node.Is(admission::kUpdate)) return CheckNodeUpdate(node);
  return base::OkStatus();
}

}  // namespace portcullis::plugins::node_restriction
