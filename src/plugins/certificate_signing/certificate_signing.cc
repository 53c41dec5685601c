// SPDX-License-Identifier: Apache-2.0

#include "plugins/certificate_signing/certificate_signing.h"

#include "admission/errors.h"
#include "authz/signer_authorization.h"
#include "base/gotext.h"
#include "base/strings.h"
#include "plugins/common/make.h"

namespace portcullis::plugins::certificate_signing {
namespace {

// An absent certificate and an empty one are different, absent and empty conditions are not.
bool Signs(const admission::Request& request) {
  const json::Value before = request.old_object()["status"];
  const json::Value after = request.object()["status"];
  if (!(before["certificate"] == after["certificate"])) return true;
  if (before["conditions"].empty() && after["conditions"].empty()) return false;
  return !(before["conditions"] == after["conditions"]);
}

class CertificateSigning final : public admission::Plugin {
 public:
  explicit CertificateSigning(const admission::PluginContext& context)
      : authorizer_(context.authorizer) {}

  base::Status Validate(const admission::Request& request) const override {
    if (!request.IsResource("certificates.k8s.io", "certificatesigningrequests") ||
        request.subresource() != "status" || !Signs(request)) {
      return base::OkStatus();
    }
    std::string_view signer = request.old_object()["spec"]["signerName"].AsString();
    if (authz::MayUseSigner(authorizer_, request.user(), "sign", signer)) {
      return base::OkStatus();
    }
    return admission::Forbidden(request,
                                base::StrCat("user not permitted to sign requests with signerName ",
                                             base::GoQuote(signer)));
  }

 private:
  const authz::Authorizer* authorizer_;
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "CertificateSigning",
    .summary = "signing certificate requests needs the right to sign for their signer",
    .phases = admission::kValidate,
    .operations = admission::kUpdate,
    .resources = "certificatesigningrequests.certificates.k8s.io/status",
    .by_default = admission::Default::kOn,
    .create = &common::Make<CertificateSigning>,
    .since_minor = 18,
};

}  // namespace portcullis::plugins::certificate_signing
