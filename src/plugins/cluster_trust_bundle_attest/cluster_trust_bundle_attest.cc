// SPDX-License-Identifier: Apache-2.0

#include "plugins/cluster_trust_bundle_attest/cluster_trust_bundle_attest.h"

#include "admission/errors.h"
#include "authz/signer_authorization.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "plugins/common/make.h"

namespace portcullis::plugins::cluster_trust_bundle_attest {
namespace {

json::Value WithoutBookkeeping(json::Arena& arena, json::Value bundle) {
  json::ObjectBuilder metadata(arena, bundle["metadata"]);
  for (std::string_view member : {"ownerReferences", "finalizers", "selfLink", "managedFields"}) {
    metadata.Remove(member);
  }
  return json::With(arena, bundle, "metadata", metadata.Build());
}

bool ChangesOnlyBookkeeping(const admission::Request& request) {
  json::Arena& arena = request.arena();
  return WithoutBookkeeping(arena, request.old_object()) ==
         WithoutBookkeeping(arena, request.object());
}

class ClusterTrustBundleAttest final : public admission::Plugin {
 public:
  explicit ClusterTrustBundleAttest(const admission::PluginContext& context)
      : authorizer_(context.authorizer),
        enabled_(context.release->GateEnabled("ClusterTrustBundle")) {}

  base::Status Validate(const admission::Request& request) const override {
    if (!enabled_ || !request.IsResource("certificates.k8s.io", "clustertrustbundles")) {
      return base::OkStatus();
    }
    std::string_view signer = request.object()["spec"]["signerName"].AsString();
    if (signer.empty()) return base::OkStatus();
    if (request.operation() == admission::kUpdate && ChangesOnlyBookkeeping(request)) {
      return base::OkStatus();
    }
    if (authz::MayUseSigner(authorizer_, request.user(), "attest", signer)) {
      return base::OkStatus();
    }
    return admission::Forbidden(
        request,
        base::StrCat("user not permitted to attest for signerName ", base::GoQuote(signer)));
  }

 private:
  const authz::Authorizer* authorizer_;
  bool enabled_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "ClusterTrustBundleAttest",
    .summary = "trust bundles of a signer need the right to attest for it",
    .phases = admission::kValidate,
    .operations = admission::kCreate | admission::kUpdate,
    .resources = "clustertrustbundles.certificates.k8s.io",
    .by_default = admission::Default::kOn,
    .create = &common::Make<ClusterTrustBundleAttest>,
    .since_minor = 27,
};

}  // namespace portcullis::plugins::cluster_trust_bundle_attest
