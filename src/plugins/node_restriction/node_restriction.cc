// SPDX-License-Identifier: Apache-2.0

#include "plugins/node_restriction/node_restriction.h"

#include <string>

#include "base/gotext.h"
#include "plugins/common/make.h"
#include "plugins/node_restriction/node_restriction_rules.h"
#include "release/release.h"

namespace portcullis::plugins::node_restriction {
namespace {

constexpr std::string_view kUserPrefix = "system:node:";

class NodeRestriction final : public admission::Plugin {
 public:
  explicit NodeRestriction(const admission::PluginContext& context)
      : reader_(context.reader),
        authorizer_(context.authorizer),
        objects_(context.objects),
        release_(*context.release),
        checks_audience_(release_.GateEnabled("ServiceAccountNodeAudienceRestriction")),
        knows_pod_certificates_(release_.GateEnabled("PodCertificateRequest")),
        lax_signing_(release_.GateEnabled("AllowInsecureKubeletCertificateSigningRequests")) {}

  base::Status Mutate(admission::Request& request) const override {
    const api::UserInfo& user = request.user();
    if (!user.name.starts_with(kUserPrefix) || !user.InGroup("system:nodes")) {
      return base::OkStatus();
    }
    const NodeRequest node{
        request, user.name.substr(kUserPrefix.size()), reader_, authorizer_, objects_, release_};
    if (node.name.empty()) {
      return node.Refuse("could not determine node from user " + base::GoQuote(user.name));
    }
    return Check(node);
  }

 private:
  base::Status Check(const NodeRequest& node) const {
    const admission::Request& request = node.request;
    if (request.IsResource("", "pods")) return CheckPod(node);
    if (request.IsResource("", "nodes")) return CheckNode(node);
    if (request.IsResource("", "persistentvolumeclaims")) return CheckClaim(node);
    if (request.IsResource("", "serviceaccounts")) return CheckToken(node, checks_audience_);
    if (request.IsResource("coordination.k8s.io", "leases")) return CheckLease(node);
    if (request.IsResource("storage.k8s.io", "csinodes")) return CheckCsiNode(node);
    if (request.IsResource("resource.k8s.io", "resourceslices")) return CheckResourceSlice(node);
    if (request.IsResource("certificates.k8s.io", "certificatesigningrequests")) {
      return checks_signing_ && !lax_signing_ ? CheckSigningRequest(node) : base::OkStatus();
    }
    if (request.IsResource("certificates.k8s.io", "podcertificaterequests") &&
        checks_pod_certificates_) {
      if (!knows_pod_certificates_) {
        return node.Refuse("PodCertificateRequest feature gate is disabled");
      }
      return CheckPodCertificate(node);
    }
    return base::OkStatus();
  }

  const store::Reader* reader_;
  const authz::Authorizer* authorizer_;
  const admission::ObjectInterfaces* objects_;
  const release::Release& release_;
  const bool checks_signing_ = release_.Has("NodeRestrictionSigningRequests");
  const bool checks_pod_certificates_ = release_.Has("NodeRestrictionPodCertificateRequests");
  bool checks_audience_;
  bool knows_pod_certificates_;
  bool lax_signing_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "NodeRestriction",
    .summary = "keeps nodes to their own objects",
    .phases = admission::kMutate,
    .operations = admission::kCreate | admission::kUpdate | admission::kDelete,
    .resources =
        "pods pods/* nodes nodes/* persistentvolumeclaims persistentvolumeclaims/* "
        "serviceaccounts/token leases.coordination.k8s.io csinodes.storage.k8s.io "
        "resourceslices.resource.k8s.io certificatesigningrequests.certificates.k8s.io "
        "podcertificaterequests.certificates.k8s.io",
    .reads =
        "csidrivers.storage.k8s.io nodes persistentvolumeclaims persistentvolumes pods "
        "serviceaccounts",
    .by_default = admission::Default::kOff,
    .create = &common::Make<NodeRestriction>,
};

}  // namespace portcullis::plugins::node_restriction
