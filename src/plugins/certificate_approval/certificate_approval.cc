// SPDX-License-Identifier: Apache-2.0

#include "plugins/certificate_approval/certificate_approval.h"

#include "admission/errors.h"
#include "authz/signer_authorization.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "plugins/common/make.h"

namespace portcullis::plugins::certificate_approval {
namespace {

class CertificateApproval final : public admission::Plugin {
 public:
  explicit CertificateApproval(const admission::PluginContext& context)
      : authorizer_(context.authorizer) {}

  base::Status Validate(const admission::Request& request) const override {
    if (!request.IsResource("certificates.k8s.io", "certificatesigningrequests") ||
        request.subresource() != "approval") {
      return base::OkStatus();
    }
    std::string_view signer = request.old_object()["spec"]["signerName"].AsString();
    if (authz::MayUseSigner(authorizer_, request.user(), "approve", signer)) {
      return base::OkStatus();
    }
    return admission::Forbidden(
        request, base::StrCat("user not permitted to approve requests with signerName ",
                              base::GoQuote(signer)));
  }

 private:
  const authz::Authorizer* authorizer_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "CertificateApproval",
    .summary = "approvals of certificate requests need the right to approve for their signer",
    .phases = admission::kValidate,
    .operations = admission::kUpdate,
    .resources = "certificatesigningrequests.certificates.k8s.io/approval",
    .by_default = admission::Default::kOn,
    .create = &common::Make<CertificateApproval>,
    .since_minor = 18,
};

}  // namespace portcullis::plugins::certificate_approval
