// SPDX-License-Identifier: Apache-2.0

#include "authn/methods.h"
#include "base/strings.h"
#include "net/server.h"

namespace portcullis::authn {
namespace {

// Kubernetes' parseUIDFromCert.
base::Result<std::string> UidOf(const std::vector<std::string>& uids) {
  if (uids.size() > 1) {
    return base::Status(
        base::Reason::kUnauthorized,
        base::StrCat("expected 1 UID, but found multiple: [", base::Join(uids, " "), "]"));
  }
  if (uids.size() == 1 && uids[0].empty()) {
    return base::Status(base::Reason::kUnauthorized, "UID cannot be an empty string");
  }
  return uids.empty() ? std::string() : uids[0];
}

class ClientCertificate final : public Authenticator {
 public:
  base::Result<std::optional<Identity>> Authenticate(const RequestView& request) const override {
    const net::ClientCertificate* certificate = request.certificate;
    if (certificate == nullptr) return std::optional<Identity>();
    if (!certificate->error.empty()) {
      return base::Status(base::Reason::kUnauthorized,
                          base::StrCat("verifying certificate SN=", certificate->serial,
                                       " failed: ", certificate->error));
    }
    if (certificate->common_name.empty()) return std::optional<Identity>();
    Identity identity;
    identity.user.name = certificate->common_name;
    identity.user.uid = TRY(UidOf(certificate->uids));
    identity.user.groups = certificate->organizations;
    identity.user.extra[std::string(kCredentialId)] = {
        base::StrCat("X509SHA256=", certificate->sha256)};
    return std::optional<Identity>(std::move(identity));
  }
};

}  // namespace

std::unique_ptr<Authenticator> MakeClientCertificate() {
  return std::make_unique<ClientCertificate>();
}

}  // namespace portcullis::authn
