// SPDX-License-Identifier: Apache-2.0

#include "plugins/certificate_subject_restriction/certificate_subject_restriction.h"

#include <string>

#include "admission/errors.h"
#include "base/strings.h"
#include "pki/certificate_request.h"
#include "plugins/common/make.h"

namespace portcullis::plugins::certificate_subject_restriction {
namespace {

class CertificateSubjectRestriction final : public admission::Plugin {
 public:
  explicit CertificateSubjectRestriction(const admission::PluginContext&) {}

  base::Status Validate(const admission::Request& request) const override {
    const json::Value spec = request.object()["spec"];
    if (!request.Is("certificates.k8s.io", "certificatesigningrequests") ||
        spec["signerName"].AsString() != "kubernetes.io/kube-apiserver-client") {
      return base::OkStatus();
    }
    const std::string pem = base::Base64Decode(spec["request"].AsString()).value_or("");
    const auto csr = pki::ReadCertificateRequest(pem);
    if (!csr.ok()) {
      return admission::Forbidden(request, "failed to parse CSR: " + csr.status().message());
    }
    for (const std::string& organization : csr->subject.organizations) {
      if (organization != "system:masters") continue;
      return admission::Forbidden(request,
                                  "use of kubernetes.io/kube-apiserver-client signer with "
                                  "system:masters group is not allowed");
    }
    return base::OkStatus();
  }
};

}  // namespace

constinit const admission::PluginInfo kPlugin = {
    .name = "CertificateSubjectRestriction",
    .summary = "refuses client certificates for the group system:masters",
    .phases = admission::kValidate,
    .operations = admission::kCreate,
    .resources = "certificatesigningrequests.certificates.k8s.io",
    .by_default = admission::Default::kOn,
    .create = &common::Make<CertificateSubjectRestriction>,
    .since_minor = 18,
};

}  // namespace portcullis::plugins::certificate_subject_restriction
