// SPDX-License-Identifier: Apache-2.0

// The objects of which a node has one or a few of its own: claims' status, its lease, CSINode,
// resource slices and certificate requests.
#include "admission/errors.h"
#include "admission/object_interfaces.h"
#include "api/view/metadata.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "pki/certificate_request.h"
#include "plugins/common/pod_references.h"
#include "plugins/common/state.h"
#include "plugins/node_restriction/node_restriction_rules.h"
#include "registry/validation/go_diff.h"
#include "release/release.h"

namespace portcullis::plugins::node_restriction {
namespace {

// A claim without what a node may report of it.
json::Value WithoutReported(json::Arena& arena, json::Value claim,
                            const release::Release& release) {
  for (std::string_view member : {"resourceVersion", "managedFields"}) {
    claim = json::RemovePath(arena, claim, {"metadata", member});
  }
  for (std::string_view member : {"capacity", "conditions"}) {
    claim = json::RemovePath(arena, claim, {"status", member});
  }
  if (!release.Has("NodeRestrictionReportsAllocatedResources")) return claim;
  for (std::string_view member : {"allocatedResources", "allocatedResourceStatuses"}) {
    claim = json::RemovePath(arena, claim, {"status", member});
  }
  return claim;
}

// The name of the object: on create its own, else the request's.
std::string_view NameOf(const admission::Request& request) {
  if (request.operation() == admission::kCreate) {
    return api::view::Metadata(request.object()).name();
  }
  return request.name();
}

}  // namespace

base::Status CheckClaim(const NodeRequest& node) {
  const admission::Request& request = node.request;
  if (request.subresource() != "status") return node.Refuse("may only update PVC status");
  if (!node.Is(admission::kUpdate)) return node.RefuseOperation();
  json::Arena& arena = request.arena();
  const json::Value before = WithoutReported(arena, request.old_object(), node.release);
  const json::Value after = WithoutReported(arena, request.object(), node.release);
  if (before == after) return base::OkStatus();
  std::string difference = "the objects differ";
  if (const auto schema =
          node.objects == nullptr ? nullptr : node.objects->SchemaOf(request.kind())) {
    difference = registry::GoDiff(*schema, before, after);
  }
  return node.RefuseNode(
      "is not allowed to update fields other than status.quantity and status.conditions: " +
      difference);
}

base::Status CheckLease(const NodeRequest& node) {
  if (node.request.namespace_name() != "kube-node-lease") {
    return node.Refuse("can only access leases in the \"kube-node-lease\" system namespace");
  }
  if (NameOf(node.request) == node.name) return base::OkStatus();
  return node.Refuse("can only access node lease with the same name as the requesting node");
}

base::Status CheckCsiNode(const NodeRequest& node) {
  if (NameOf(node.request) == node.name) return base::OkStatus();
  return node.Refuse("can only access CSINode with the same name as the requesting node");
}

base::Status CheckResourceSlice(const NodeRequest& node) {
  const bool has_spec = node.release.Has("NodeRestrictionResourceSliceSpec");
  const auto is_own = [&](json::Value slice) {
    const json::Value place = has_spec ? slice["spec"] : slice;
    return place["nodeName"].AsString() == node.name;
  };
  if (node.Is(admission::kCreate) && !is_own(node.request.object())) {
    return node.Refuse(
        "can only create ResourceSlice with the same NodeName as the requesting node");
  }
  if (node.Is(admission::kDelete) && has_spec && !is_own(node.request.old_object())) {
    return node.Refuse(
        "can only delete ResourceSlice with the same NodeName as the requesting node");
  }
  return base::OkStatus();
}

base::Status CheckSigningRequest(const NodeRequest& node) {
  const json::Value spec = node.request.object()["spec"];
  std::string_view signer = spec["signerName"].AsString();
  if (!node.Is(admission::kCreate) || !node.request.subresource().empty() ||
      (signer != "kubernetes.io/kubelet-serving" &&
       signer != "kubernetes.io/kube-apiserver-client-kubelet")) {
    return base::OkStatus();
  }
  const std::string pem = base::Base64Decode(spec["request"].AsString()).value_or("");
  const auto csr = pki::ReadCertificateRequest(pem);
  if (!csr.ok()) {
    return node.Refuse("unable to parse csr: " + csr.status().message());
  }
  const std::string wanted = "system:node:" + node.name;
  if (csr->subject.common_name == wanted) return base::OkStatus();
  return node.Refuse("can only create a node CSR with CN=" + wanted);
}

// Differences that a node's slower view may explain are plain errors, which the node tries again.
base::Status CheckPodCertificate(const NodeRequest& node) {
  const admission::Request& request = node.request;
  if (!node.Is(admission::kCreate)) {
    return node.Refuse(
        base::StrCat("unexpected operation ", admission::OperationText(request.operation())));
  }
  if (!request.subresource().empty()) {
    return node.Refuse("unexpected subresource " + request.subresource());
  }
  const json::Value spec = request.object()["spec"];
  const std::string& ns = request.namespace_name();
  std::string_view node_name = spec["nodeName"].AsString();
  std::string_view pod_name = spec["podName"].AsString();
  std::string_view account_name = spec["serviceAccountName"].AsString();
  const std::string pod_text = base::GoQuote(base::StrCat(ns, "/", pod_name));
  const std::string about = base::StrCat("PodCertificateRequest for pod ", pod_text);
  if (node_name != node.name) {
    return node.Refuse(
        base::StrCat("PodCertificateRequest.Spec.NodeName=", base::GoQuote(node_name),
                     ", which is not the requesting node ", node.Quoted()));
  }
  const store::ObjectPtr self = common::Find(node.reader, "", "nodes", "", node_name);
  if (self == nullptr) {
    return admission::PlainError(base::StrCat("while retrieving node ", base::GoQuote(node_name),
                                              " named in the PodCertificateRequest: node ",
                                              base::GoQuote(node_name), " not found"));
  }
  std::string_view node_uid = spec["nodeUID"].AsString();
  if (self->uid() != node_uid) {
    return admission::PlainError(base::StrCat(about, " names node UID ", base::GoQuote(node_uid),
                                              ", inconsistent with the running node (",
                                              base::GoQuote(self->uid()), ")"));
  }
  const json::Value pod =
      common::RootOf(request.arena(), common::Find(node.reader, "", "pods", ns, pod_name));
  if (pod.is_null()) {
    return admission::PlainError(base::StrCat("while retrieving pod ", pod_text,
                                              " named in the PodCertificateRequest: pod ",
                                              base::GoQuote(pod_name), " not found"));
  }
  std::string_view pod_uid = spec["podUID"].AsString();
  std::string_view running_uid = pod["metadata"]["uid"].AsString();
  if (pod_uid != running_uid) {
    return admission::PlainError(base::StrCat(about, " contains pod UID (", base::GoQuote(pod_uid),
                                              ") which differs from running pod ",
                                              base::GoQuote(running_uid)));
  }
  if (pod["spec"]["nodeName"].AsString() != node_name) {
    return node.Refuse(base::StrCat("pod ", pod_text, " is not running on node ",
                                    base::GoQuote(node_name),
                                    " named in the PodCertificateRequest"));
  }
  if (common::IsMirrorPod(pod)) {
    return node.Refuse(base::StrCat("pod ", pod_text, " is a mirror pod"));
  }
  std::string_view running_account = pod["spec"]["serviceAccountName"].AsString();
  if (account_name != running_account) {
    return node.Refuse(
        base::StrCat(about, " contains serviceAccountName (", base::GoQuote(account_name),
                     ") that differs from running pod (", base::GoQuote(running_account), ")"));
  }
  const store::ObjectPtr account =
      common::Find(node.reader, "", "serviceaccounts", ns, account_name);
  if (account == nullptr) {
    return admission::PlainError(base::StrCat(
        "while retrieving service account ", base::GoQuote(base::StrCat(ns, "/", account_name)),
        " named in the PodCertificateRequest: serviceaccount ", base::GoQuote(account_name),
        " not found"));
  }
  std::string_view account_uid = spec["serviceAccountUID"].AsString();
  if (account->uid() == account_uid) return base::OkStatus();
  return admission::PlainError(base::StrCat(
      about, " names service account UID ", base::GoQuote(account_uid),
      ", which differs from the running service account (", base::GoQuote(account->uid()), ")"));
}

}  // namespace portcullis::plugins::node_restriction
